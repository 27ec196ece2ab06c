// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/check.hpp>
#include <mini_llm/command_line.hpp>
#include <mini_llm/init_config.hpp>
#include <mini_llm/model_config.hpp>
#include <mini_llm/numbers.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

using mini_llm::parse_command_line;
using weft_test::get;
using weft_test::has;
using weft_test::put;
using weft_test::scratch;

namespace {

std::vector<std::string> split(std::string const& line) {
  std::istringstream words(line);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  return arguments;
}

mini_llm::options parsed(std::string const& line) { return parse_command_line(split(line)).chosen; }

std::string refused(std::string const& line) {
  return weft_test::message_of<weft::error>([&] { (void)parse_command_line(split(line)); });
}

constexpr mini_llm::model_facts nano{4, 128, 4, 256};

std::string problems(std::string const& line, int launched = 1) {
  std::string all;
  for (std::string const& problem : mini_llm::check(parsed(line), launched, nano)) all += problem + "\n";
  return all;
}

}  // namespace

TEST_CASE("names of choices, whatever their case and punctuation") {
  CHECK(parsed("--schedule zb-h1").schedule == "zb-h1");
  CHECK(parsed("--schedule ZB_H1").schedule == "zb-h1");
  CHECK(parsed("--schedule GPipe").schedule == "gpipe");
  CHECK(parsed("--transport in_process --ranks 2").transport == mini_llm::transport_kind::in_process);
}

TEST_CASE("every option reaches its member") {
  mini_llm::options const all = parsed(
      "--data d --preset gpt2-124m --init w --dropout 0.25 --schedule gpipe --micro-batches 3 --partition 1,0,4 "
      "--recompute full "
      "--door device_aware --chunk-bytes 65536 --channels 2 "
      "--transport in-process --ranks 3 --plan --timeout 1.5 --batch 6 --seq 7 --steps 8 --lr 1e-4 --warmup 2 "
      "--capture "
      "--weight-decay 0 "
      "--clip 0.5 --seed 18446744073709551615 --out o --log-every 9 --eval-every 0 --eval-batches 11 --save-every 12 "
      "--resume f --sample-bytes 13 --prompt p --temperature 0 --top-k 14");
  CHECK(all.data == "d");
  CHECK(all.preset == mini_llm::preset_kind::gpt2_124m);
  CHECK(all.init == "w");
  CHECK(all.dropout == 0.25);
  CHECK(all.schedule == "gpipe");
  CHECK(all.micro_batches == 3);
  CHECK(all.partition == std::vector<int>{1, 0, 4});
  CHECK(all.recompute == mini_llm::recompute_kind::full);
  CHECK(all.transport == mini_llm::transport_kind::in_process);
  CHECK(all.ranks == 3);
  CHECK(all.door == mini_llm::door_kind::device_aware);
  CHECK(all.chunk_bytes == 65536);
  CHECK(all.channels == 2);
  CHECK(all.plan);
  CHECK(all.timeout_seconds == 1.5);
  CHECK(all.batch == 6);
  CHECK(all.sequence_length == 7);
  CHECK(all.steps == 8);
  CHECK(all.learning_rate == 1e-4);
  CHECK(all.warmup == 2);
  CHECK(all.capture);
  CHECK_FALSE(parsed("").capture);
  CHECK(all.weight_decay == 0.0);
  CHECK(all.clip == 0.5);
  CHECK(all.seed == ~std::uint64_t{0});
  CHECK(all.out == "o");
  CHECK(all.log_every == 9);
  CHECK(all.eval_every == 0);
  CHECK(all.eval_batches == 11);
  CHECK(all.save_every == 12);
  CHECK(all.resume == "f");
  CHECK(all.sample_bytes == 13);
  CHECK(all.prompt == "p");
  CHECK(all.temperature == 0.0);
  CHECK(all.top_k == 14);
}

TEST_CASE("speeds of ranks: a list, a measurement, or none") {
  CHECK(parsed("--speeds 1,0.75").speeds == std::vector<double>{1.0, 0.75});
  CHECK(parsed("--speeds 549.7 534.9").speeds == std::vector<double>{549.7, 534.9});
  CHECK(parsed("--speeds measure").measure_speeds);
  CHECK(parsed("--speeds measure").speeds.empty());
  CHECK_FALSE(parsed("--speeds equal").measure_speeds);
  CHECK(mini_llm::speeds_text(parsed("--speeds 1,0.75")) == "1,0.75");
  CHECK(mini_llm::speeds_text(parsed("--speeds measure")) == "measure");
  CHECK(mini_llm::speeds_text(parsed("")) == "equal");
  for (char const* const wrong : {"--speeds 1,0", "--speeds 1,-2", "--speeds 1,,2", "--speeds fast", "--speeds 1,nan"})
    CHECK(refused(wrong).find("equal, measure, or a number above 0 for each pipeline rank (1,0.75) is legal") !=
          std::string::npos);
  CHECK(problems("--speeds 1,0.75", 2) == "");
  CHECK(problems("--speeds measure", 2) == "");
  CHECK(problems("--speeds 2,1 --data-ranks 2", 4) == "");
  CHECK(problems("--speeds 1,2,3", 2) ==
        "--speeds 1,2,3 is for 3 ranks, and a pipeline has 2; give one number for each\n");
  CHECK(problems("--speeds 1,2 --partition 3,3", 2) ==
        "--speeds 1,2 and --partition 3,3 both divide the layers; leave one of them away\n");
  CHECK(problems("--speeds measure --plan", 2)
            .find("--speeds measure times the ranks of a run, and --plan starts none") == 0);
}

TEST_CASE("nothing given: the defaults, which are possible") {
  CHECK(mini_llm::to_json(parsed("")) == mini_llm::to_json(mini_llm::options{}));
  CHECK(problems("") == "");
  CHECK(problems("", 2) == "");
  CHECK_FALSE(parsed("").resume.has_value());
  CHECK(parsed("--resume").resume == "latest");
  CHECK(parsed("--resume --plan").resume == "latest");
  CHECK(parsed("--resume --plan").plan);
  CHECK(parsed("--resume=x.safetensors").resume == "x.safetensors");
  CHECK(parsed("--partition auto").partition.empty());
  CHECK(parsed("--lr=5e-5").learning_rate == 5e-5);
  CHECK(parse_command_line({"--prompt", "two words\n"}).chosen.prompt == "two words\n");
  CHECK(parse_command_line({"--prompt", ""}).chosen.prompt == "");
}

TEST_CASE("values out of range are refused with the legal range") {
  struct wrong {
    char const* line;
    char const* words;
  };
  wrong const cases[] = {
      {"--micro-batches 0", "--micro-batches 0 is not possible; whole numbers from 1 to 65536 are legal"},
      {"--micro-batches -4", "--micro-batches -4 is not possible; whole numbers from 1 to 65536"},
      {"--micro-batches 4.5", "--micro-batches 4.5 is not possible"},
      {"--micro-batches 4x", "--micro-batches 4x is not possible"},
      {"--micro-batches 99999999999999999999", "is not possible; whole numbers from 1 to 65536"},
      {"--batch 0", "--batch 0 is not possible"},
      {"--seq 0", "--seq 0 is not possible"},
      {"--steps -1", "--steps -1 is not possible; whole numbers from 0"},
      {"--seed -1", "--seed -1 is not possible; whole numbers from 0 to 18446744073709551615"},
      {"--lr 0", "--lr 0 is not possible; numbers above 0 to 10 are legal"},
      {"--lr nan", "--lr nan is not possible"},
      {"--lr inf", "--lr inf is not possible"},
      {"--lr 1e-3x", "--lr 1e-3x is not possible"},
      {"--dropout 1", "--dropout 1 is not possible; numbers from 0 to less than 1 are legal"},
      {"--weight-decay -0.1", "--weight-decay -0.1 is not possible"},
      {"--clip -1", "--clip -1 is not possible"},
      {"--temperature -1", "--temperature -1 is not possible; numbers from 0 to 100"},
      {"--top-k 257", "--top-k 257 is not possible; whole numbers from 0 to 256"},
      {"--timeout 0", "--timeout 0 is not possible"},
      {"--ranks 0", "--ranks 0 is not possible; whole numbers from 1 to 1024"},
      {"--log-every 0", "--log-every 0 is not possible; whole numbers from 1"},
      {"--eval-batches -1", "--eval-batches -1 is not possible"},
      {"--preset huge", "--preset huge is not possible; nano, small, gpt2-124m, llama-nano or llama-160m is legal"},
      {"--schedule 2f2b", "--schedule 2f2b is not possible; serial, gpipe, 1f1b,"},
      {"--recompute some", "--recompute some is not possible; none or full is legal"},
      {"--chunk-bytes 100000", "--chunk-bytes 100000 is not possible; a multiple of 64"},
      {"--door open", "--door open is not possible; plain, staged, device-aware, automatic or nccl"},
      {"--transport tcp", "--transport tcp is not possible; mpi or in-process is legal"},
      {"--partition 1,,2", "--partition 1,,2 is not possible; auto, or layers per rank"},
      {"--partition 1,-2", "is not possible; auto, or layers per rank"},
      {"--partition 1,2,", "is not possible; auto, or layers per rank"},
      {"--batch", "--batch: 1 required N missing"},
  };
  for (wrong const& one : cases) {
    CAPTURE(one.line);
    std::string const words = refused(one.line);
    CAPTURE(words);
    CHECK(has(words, one.words));
    CHECK(words.starts_with("mini_llm::options: "));
  }
}

TEST_CASE("unknown options are answered with the nearest known one") {
  CHECK(has(refused("--bacth 4"), "there is no option --bacth; did you mean --batch?"));
  CHECK(has(refused("--micro_batches=4"), "did you mean --micro-batches?"));
  CHECK(has(refused("--learning-rate 1"), "there is no option --learning-rate; --help lists all options"));
  CHECK(has(refused("stray"), "there is no option stray"));
  CHECK(has(refused("-x"), "there is no option -x"));
}

TEST_CASE("help and version are texts, not errors") {
  auto const help = parse_command_line({"--help"});
  CHECK_FALSE(help.proceed());
  for (char const* const part : {"--data", "--partition", "--save-every", "1f1b", "Sample", "Training",
                                 "bigram entropy", "H(next | previous)", "mpiexec"})
    CHECK(has(help.message, part));
  std::istringstream lines(help.message);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
  CHECK(has(parse_command_line({"--version"}).message, "0."));
}

TEST_CASE("settings come from TOML or from an earlier run's JSON, and the command line wins") {
  scratch folder;
  put(folder / "a.toml",
      "batch = 8\nlr = 2e-4\nschedule = \"gpipe\"\npartition = [1, 2, 3]\nplan = true\n\n[sample]\nprompt = "
      "\"a\\nb\"\ntop-k = 5\n");
  auto const from = [&](std::string const& name, std::string const& more = "") {
    return parsed("--config " + (folder / name).string() + " " + more);
  };
  auto const toml = from("a.toml", "--batch 32");
  CHECK(toml.batch == 32);
  CHECK(toml.learning_rate == 2e-4);
  CHECK(toml.schedule == "gpipe");
  CHECK(toml.partition == std::vector<int>{1, 2, 3});
  CHECK(toml.plan);
  CHECK(toml.prompt == "a\nb");
  CHECK(toml.top_k == 5);

  mini_llm::options chosen =
      parsed("--lr 0.1 --batch 5 --micro-batches 5 --seed 18446744073709551615 --partition 2,4 --data some/where");
  chosen.learning_rate = 0.1 + 0.2;  // needs all 17 digits
  chosen.prompt = "quotes \" and \xc3\xa4 and\nlines";
  mini_llm::write_run_configuration(folder / "config-run.json", chosen, {{"data_hash", "0"}});
  CHECK(mini_llm::to_json(from("config-run.json")) == mini_llm::to_json(chosen));

  auto const wrong = [&](std::string const& content) {
    put(folder / "wrong", content);
    return refused("--config " + (folder / "wrong").string());
  };
  CHECK(has(wrong("bacth = 4\n"), "there is no option bacth; did you mean --batch?"));
  CHECK(has(wrong("batch = 0\n"), "--batch 0 is not possible; whole numbers from 1"));
  CHECK(has(wrong("x = 1\nbatch = = 4\n"), "line 2 is not TOML"));
  CHECK(has(wrong("batch = 1979-05-27\n"), "\"batch\" is neither a number nor a text"));
  CHECK(has(wrong("{\"batch\": "), "begins like JSON, but is none"));
  CHECK(has(wrong("{\"options\": {\"batch\": null}}"), "\"batch\" is neither a number nor a text"));
  CHECK(has(wrong("{\"options\": {\"batch\": 1e3}}"), "--batch 1000.0 is not possible"));
  CHECK(has(refused("--config " + (folder / "missing").string()), "name a file that can be read"));
  CHECK(has(refused("--config " + folder.path().string()), "name a file that can be read"));
}

TEST_CASE("a schedule may be a table in a file, which has its own ranks and micro-batches") {
  scratch const folder;
  std::string const path = (folder / "mine.csv").string();
  put(path, "0F0,0F1,0F2,0B2,0B1,0B0\r\n1F0,1F1,1F2,1B2,1B1,1B0\r\n");
  auto const mine = parsed("--schedule " + path);
  CHECK(mine.schedule == path);
  CHECK(mine.micro_batches == 3);
  CHECK(mini_llm::table_of(mine, 2).view().row(1).size == 6);
  CHECK(problems("--schedule " + path, 2) == "");
  CHECK(has(problems("--schedule " + path, 3), "is a table for 2 ranks, and there are 3; start as many"));
  CHECK(has(problems("--schedule " + path + " --micro-batches 4", 2), "is a table of 3 micro-batches"));
  CHECK(parsed("--schedule " + path + " --schedule gpipe").table.empty());
  // The serial replay of it: one rank, with as many stages.
  auto const replay = parsed("--replay 2 --schedule " + path);
  CHECK(mini_llm::table_of(replay, 1).view().ranks() == 1);
  CHECK(mini_llm::table_of(replay, 1).view().stages() == 2);
  CHECK(problems("--replay 2 --schedule " + path) == "");
  CHECK(has(problems("--replay 2 --schedule " + path, 2), "--replay 2 is for one rank, and there are 2"));
  CHECK(problems("--replay 3 --schedule looped-bfs --micro-batches 4") == "");
  // What is wrong with a table is said by the checker, or by its reader.
  put(path, "0F0,0F1,0B1,0B0\n1F0,1F1,1B0,1B1\n0F7\n");
  CHECK(has(refused("--schedule " + path), "mine.csv: "));
  put(path, "0F0,0B0,0B1,0F1\n1F0,1F1,1B0,1B1\n");
  CHECK(has(refused("--schedule " + path), "comes before its forward; put F first"));
  put(path, "0F0,0X1\n");
  CHECK(has(refused("--schedule " + path), "cell \"0X1\": is not a known action"));
  put(path, "");
  CHECK(has(refused("--schedule " + path), "has 0 bytes, which is no table"));
  CHECK(has(refused("--schedule " + (folder / "none.csv").string()), "none.csv"));
  put(path, "# weft-table 1 ranks=2 asynchronous=1\n0F0,0B0,0STEP\n1F0,1B0,1STEP\n");
  CHECK(has(refused("--schedule " + path), "steps between its backwards"));
  // Two copies of the model, with and without weft-schedule's first line.
  std::string const both = "0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n";
  for (std::string const head : {"", "# weft-table 1 name=chimera ranks=2 copies=2\n"}) {
    put(path, head + both);
    CHECK(mini_llm::table_of(parsed("--schedule " + path), 2).view().graph.copies == 2);
    CHECK(problems("--schedule " + path, 2) == "");
  }
}

TEST_CASE("impossible combinations say what is possible") {
  CHECK(
      has(problems("--schedule serial", 2), "--schedule serial uses one rank, and there are 2; start one, or choose"));
  CHECK(problems("--schedule serial", 1) == "");
  CHECK(problems("--schedule interleaved --chunks 3 --micro-batches 4", 2) == "");
  CHECK(has(problems("--schedule 1f1b --chunks 2", 2), "--schedule 1f1b: "));
  CHECK(problems("--schedule chimera --micro-batches 4", 4) == "");
  CHECK(has(problems("--schedule chimera --micro-batches 4", 3), "--schedule chimera: "));
  CHECK(has(problems("--schedule chimera --micro-batches 4 --gradient-groups 2", 4),
            "keeps two copies of the model with a group of gradients each"));
  CHECK(has(problems("--schedule zbv --partition 2,2,2", 2), "is for 3 stages, and there are 4"));
  CHECK(has(problems("--batch 16 --micro-batches 17"),
            "--micro-batches 17 cannot cut --batch 16 into pieces of at least one sequence; "
            "--micro-batches 1 to 16 are possible, or --batch 17 and more"));
  CHECK(problems("--micro-batches 5") == "");  // pieces that differ by one are fine
  CHECK(has(problems("--seq 257"),
            "--seq 257 is longer than the 256 positions of --preset nano; --seq 1 to 256 are possible"));
  CHECK(problems("--seq 256") == "");
  CHECK(has(problems("--partition 3,3", 3), "is for 2 ranks, and there are 3; --partition 2,2,2 is possible, or auto"));
  CHECK(has(problems("--partition 2,2", 2),
            "adds up to 4 layers; --preset nano has 6 (embedding, 4 blocks, head); "
            "--partition 3,3 is possible, or auto"));
  CHECK(problems("--partition 1,0,0,5", 4) == "");  // empty stages are possible
  CHECK(
      has(problems("--steps 10 --warmup 11"), "--warmup 11 is longer than --steps 10; --warmup 0 to 10 are possible"));
  CHECK(has(problems("--resume --init x"), "leave one of them away"));
  CHECK(has(problems("--transport in-process --ranks 2", 2), "start one process, and say --ranks 2"));
  CHECK(problems("--transport in-process --ranks 3 --partition 2,2,2") == "");
  CHECK(has(problems("--transport in-process --ranks 2 --channels 2"), "in-process has one; leave it away"));
  CHECK(has(problems("--transport in-process --ranks 2 --door nccl"), "start the ranks by mpiexec, or leave it away"));
  for (std::string const name : {"nccl", "hierarchical:nccl"}) {
    CHECK(
        has(problems("--data-ranks 2 --door staged --reduce " + name, 2),
            "--reduce " + name + " has the library of the devices' vendor, and --door staged does not connect to it"));
    CHECK(has(problems("--gradient-groups 2 --door nccl --reduce " + name, 2),
              "nothing of the order in which --gradient-groups must add"));
    CHECK(problems("--data-ranks 2 --door nccl --reduce " + name, 2) == "");
    CHECK(problems("--reduce " + name, 2) == "");  // nothing is summed
  }
  CHECK(has(problems("--door nccl --post-validation", 2), "--door nccl must keep that; leave one of them away"));
  CHECK(has(problems("--ranks 4", 2), "use mpiexec -n 4, or --transport in-process"));
  CHECK(has(problems("--schedule serial --transport in-process --ranks 2"), "there are 2"));
  mini_llm::options chosen;
  chosen.prompt.clear();
  CHECK(mini_llm::check(chosen, 1, nano).size() == 1);
  chosen.sample_bytes = 0;
  CHECK(mini_llm::check(chosen, 1, nano).empty());
}

TEST_CASE("asynchronous schedules: what goes with them, and how a run is cut into windows") {
  CHECK(parsed("--schedule pipedream").micro_batches == 1);
  CHECK(parsed("--schedule 2bw").schedule == "pipedream-2bw");
  CHECK(parsed("--schedule pipedream-2bw").micro_batches == 4);
  CHECK(parsed("--precision bf16").precision == mini_llm::precision_kind::bf16);
  CHECK(has(refused("--precision half"), "auto, fp32, tf32, bf16"));
  CHECK(mini_llm::checked_precision(mini_llm::precision_kind::automatic) == mini_llm::precision_kind::fp32);
  CHECK(mini_llm::checked_precision(mini_llm::precision_kind::tf32) == mini_llm::precision_kind::tf32);
  CHECK(has(weft_test::message_of<weft::error>(
                [] { static_cast<void>(mini_llm::checked_precision(mini_llm::precision_kind::bf16)); }),
            "this program computes in fp32, and --precision asks for bf16; build and run mini_llm_bf16"));
  CHECK(parsed("--schedule pipedream --clip-policy delayed-norm --window 7").clip_policy == "delayed-norm");
  CHECK(has(refused("--clip-policy global"), "does not exist in time; use per-stage, or delayed-norm"));
  CHECK(has(refused("--clip-policy mine"), "no clip policy \"mine\""));
  for (char const* const name : {"pipedream", "pipedream-vertical-sync", "pipedream-no-stash", "pipedream-2bw"}) {
    CHECK(mini_llm::is_asynchronous(parsed("--schedule " + std::string(name))));
    CHECK(problems("--schedule " + std::string(name), 4) == "");
  }
  CHECK(!mini_llm::is_asynchronous(parsed("--schedule 1f1b")));
  CHECK(has(problems("--schedule pipedream --micro-batches 4", 2), "steps after every micro-batch"));
  CHECK(has(problems("--schedule 2bw --micro-batches 2", 4), "use --micro-batches 3 or more"));
  CHECK(has(problems("--schedule pipedream --data-ranks 2", 4), "leave --data-ranks away"));
  CHECK(has(problems("--schedule 2bw --gradient-groups 2", 2), "leave --gradient-groups away"));
  CHECK(has(problems("--schedule pipedream --trace t.json", 2), "--trace records single steps"));
  CHECK(has(problems("--schedule pipedream --replay 2", 1), "is another training"));
  CHECK(has(problems("--schedule pipedream --post-validation", 2), "steps in between, and waits for no rank as it is"));

  auto const cut = [](std::string const& line, std::int64_t step) {
    return mini_llm::window_steps(parsed("--steps 1000 " + line), step);
  };
  CHECK(cut("--window 30 --eval-every 0", 0) == 30);
  CHECK(cut("--window 30 --eval-every 0", 985) == 15);
  CHECK(cut("--window 30 --eval-every 20", 0) == 20);
  CHECK(cut("--window 30 --eval-every 20 --save-every 50", 40) == 10);
  CHECK(cut("--window 30 --eval-every 20 --save-every 50", 50) == 10);
}

TEST_CASE("steps that are validated afterwards go with every schedule that has one step at its end") {
  CHECK_FALSE(parsed("").post_validation);
  CHECK(parsed("--post-validation").post_validation);
  for (std::string const name : {"1f1b", "zb-h2", "zbv", "chimera"})
    CHECK(problems("--post-validation --micro-batches 4 --schedule " + name, 4) == "");
  CHECK(problems("--post-validation --schedule zb-h1 --data-ranks 2", 4) == "");
  CHECK(has(problems("--post-validation --schedule chimera --data-ranks 2", 4), "leave one of the three away"));
}

TEST_CASE("a Llama has no dropout, and is told in words") {
  mini_llm::model_facts llama = nano;
  llama.has_dropout = false;
  auto chosen = parsed("--preset llama-nano --dropout 0.1");
  auto const found = mini_llm::check(chosen, 1, llama);
  REQUIRE(found.size() == 1);
  CHECK(
      found[0] ==
      "--preset llama-nano has no dropout, so --dropout asks for what it cannot do; leave it away, or choose --preset "
      "nano, small or gpt2-124m");
  chosen.dropout = 0.0;
  CHECK(mini_llm::check(chosen, 1, llama).empty());
}

TEST_CASE("Hugging Face's configuration has what LlamaForCausalLM asks for") {
  mini_llm::model_facts llama = nano;
  llama.is_llama = true;
  llama.has_dropout = false;
  llama.norm_epsilon = 1e-6;
  llama.kv_heads = 2;
  llama.hidden = 384;
  llama.theta = 500000;
  auto const config = mini_llm::hugging_face_config(llama, 0.0);
  CHECK(config["model_type"] == "llama");
  CHECK(config["architectures"][0] == "LlamaForCausalLM");
  CHECK(config["hidden_size"] == 128);
  CHECK(config["intermediate_size"] == 384);
  CHECK(config["num_attention_heads"] == 4);
  CHECK(config["num_key_value_heads"] == 2);
  CHECK(config["head_dim"] == 32);
  CHECK(config["num_hidden_layers"] == 4);
  CHECK(config["max_position_embeddings"] == 256);
  CHECK(config["vocab_size"] == 256);
  CHECK(config["hidden_act"] == "silu");
  CHECK(config["rms_norm_eps"] == 1e-6);
  CHECK(config["rope_theta"] == 500000.0);
  CHECK(config["tie_word_embeddings"] == false);
  CHECK(config["bos_token_id"].get<int>() < 256);
}

TEST_CASE("Hugging Face's configuration has what GPT2LMHeadModel asks for") {
  auto const config = mini_llm::hugging_face_config(nano, 0.1);
  CHECK(config["model_type"] == "gpt2");
  CHECK(config["architectures"][0] == "GPT2LMHeadModel");
  CHECK(config["n_embd"] == 128);
  CHECK(config["n_head"] == 4);
  CHECK(config["n_layer"] == 4);
  CHECK(config["n_positions"] == 256);
  CHECK(config["vocab_size"] == 256);
  CHECK(config["activation_function"] == "gelu_new");
  CHECK(config["layer_norm_epsilon"] == 1e-5);
  CHECK(config["tie_word_embeddings"] == true);
  CHECK(config["resid_pdrop"] == 0.1);
  CHECK(config["bos_token_id"].get<int>() < 256);
  CHECK(config["eos_token_id"].get<int>() < 256);
}

TEST_CASE("a config.json beside --init must describe this model, as far as it goes") {
  scratch folder;
  mini_llm::model_facts llama = nano;
  llama.is_llama = true;
  llama.norm_epsilon = 1e-6;
  llama.kv_heads = 2;
  llama.theta = 10000;
  auto const words = [&](mini_llm::model_facts const& model, std::string const& config) {
    put(folder / "config.json", config);
    return weft_test::message_of<weft::error>(
        [&] { mini_llm::require_same_configuration(folder / "model.safetensors", model); });
  };
  CHECK(weft_test::message_of<weft::error>(
            [&] { mini_llm::require_same_configuration(folder / "nothing/model.safetensors", nano); }) == "");
  for (auto const& model : {nano, llama}) CHECK(words(model, mini_llm::hugging_face_config(model, 0.1).dump()) == "");
  CHECK(words(llama, "{}") == "");
  CHECK(words(llama, R"({"rope_scaling": null, "rope_theta": 10000, "hidden_act": "swish", "rms_norm_eps": 1e-06})") ==
        "");
  CHECK(words(llama, R"({"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})") == "");
  CHECK(words(nano, R"({"activation_function": "gelu_pytorch_tanh"})") == "");
  CHECK(has(words(llama, mini_llm::hugging_face_config(nano, 0.0).dump()),
            "config.json describes another model: \"model_type\" is"));
  CHECK(has(words(nano, R"({"n_head": 8})"), "the model wants 4; name a file that was written for this --preset"));
  CHECK(has(words(nano, R"({"activation_function": "relu"})"), "\"activation_function\""));
  CHECK(has(words(llama, R"({"num_key_value_heads": 4})"), "\"num_key_value_heads\""));
  CHECK(has(words(llama, R"({"rms_norm_eps": 1e-05})"), "\"rms_norm_eps\""));
  CHECK(has(words(llama, R"({"rope_theta": 500000.0})"), "the model wants 10000.0"));
  CHECK(has(words(llama, R"({"rope_parameters": {"rope_theta": 500000.0}})"), "\"rope_theta\""));
  CHECK(has(words(llama, R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})"), "\"rope_scaling\""));
  CHECK(has(words(llama, R"({"rope_scaling": {"type": "linear", "factor": 2.0}})"), "\"rope_scaling\""));
  CHECK(has(words(llama, "[1]"), "is no JSON"));
  CHECK(has(words(llama, "{"), "is no JSON"));
}
