// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model_config.hpp"

namespace mini_llm {

char const* hugging_face_class(model_facts const& model) {
  return model.is_llama ? "LlamaForCausalLM" : "GPT2LMHeadModel";
}

nlohmann::ordered_json hugging_face_config(model_facts const& model, double dropout) {
  if (model.is_llama)
    return {{"architectures", {hugging_face_class(model)}},
            {"model_type", "llama"},
            {"vocab_size", model.vocabulary},
            {"max_position_embeddings", model.positions},
            {"hidden_size", model.channels},
            {"intermediate_size", model.hidden},
            {"num_hidden_layers", model.blocks},
            {"num_attention_heads", model.heads},
            {"num_key_value_heads", model.kv_heads},
            {"head_dim", model.channels / model.heads},
            {"hidden_act", "silu"},
            {"rms_norm_eps", model.norm_epsilon},
            {"rope_theta", static_cast<double>(model.theta)},
            {"rope_scaling", nullptr},
            {"attention_bias", false},
            {"mlp_bias", false},
            {"attention_dropout", 0.0},
            {"initializer_range", 0.02},
            {"tie_word_embeddings", false},
            {"use_cache", true},
            {"bos_token_id", 0},
            {"eos_token_id", 0},
            {"torch_dtype", "float32"}};
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", model.vocabulary},
          {"n_positions", model.positions},
          {"n_embd", model.channels},
          {"n_layer", model.blocks},
          {"n_head", model.heads},
          {"n_inner", nullptr},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", model.norm_epsilon},
          {"initializer_range", 0.02},
          {"embd_pdrop", dropout},
          {"attn_pdrop", dropout},
          {"resid_pdrop", dropout},
          {"scale_attn_weights", true},
          {"scale_attn_by_inverse_layer_idx", false},
          {"reorder_and_upcast_attn", false},
          {"tie_word_embeddings", true},
          {"use_cache", true},
          {"bos_token_id", 0},
          {"eos_token_id", 0},
          {"torch_dtype", "float32"}};
}

void write_run_configuration(fs::path const& path, options const& chosen, nlohmann::ordered_json const& run) {
  nlohmann::ordered_json const object{{"options", to_json(chosen)}, {"run", run}};
  write_text("out", path, object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace mini_llm
