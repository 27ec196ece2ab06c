// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/export_weights.hpp>
#include <mini_llm/init_weights.hpp>
#include <mini_llm/safetensors_reader.hpp>
#include <mini_llm/safetensors_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using mini_llm::safetensors_reader;
using mini_llm::safetensors_writer;
using weft_test::get;
using weft_test::has;
using weft_test::put;
using weft_test::scratch;

namespace {

std::string with_length(std::uint64_t length, std::string const& rest) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + rest;
}

/// A file made by hand: the header as it is, then the payload.
std::string file_of(std::string const& header, std::size_t payload) {
  return with_length(header.size(), header + std::string(payload, '\1'));
}

std::string opened(std::filesystem::path const& path) {
  return weft_test::message_of<weft::error>([&] { safetensors_reader const reader(path); });
}

std::string refused(scratch const& folder, std::string const& content) {
  put(folder / "file", content);
  return opened(folder / "file");
}

void write_sample(std::filesystem::path const& path, bool checksum) {
  std::vector<float> const values{1.5f, -2.25f, 3.0f, -0.0f, std::numeric_limits<float>::denorm_min(), 1e30f};
  auto writer = safetensors_writer::create<float>(path, {{"a", {2, 3}}, {"nothing", {0, 7}}, {"b", {}}},
                                                  {{"note", "a \"quoted\" text"}}, checksum);
  writer.write<float>("a", values);
  writer.write<float>("nothing", {});
  writer.write<float>("b", std::span(values).first(1));
  writer.commit();
}

weft::parameters::parameter_descriptor parameter(std::string name, std::int64_t rows, std::int64_t columns) {
  weft::parameters::parameter_descriptor made;
  made.name = std::move(name);
  made.extents[0] = rows;
  made.extents[1] = columns;
  made.dimensions = 2;
  return made;
}

}  // namespace

TEST_CASE("what is written is read again, bit for bit") {
  scratch folder;
  for (bool const checksum : {false, true}) {
    write_sample(folder / "file", checksum);
    safetensors_reader const reader(folder / "file");
    CHECK(reader.has_checksum() == checksum);
    CHECK_NOTHROW(reader.verify());
    CHECK(reader.metadata().at("format") == "pt");
    CHECK(reader.metadata().at("note") == "a \"quoted\" text");
    REQUIRE(reader.tensors().size() == 3);
    CHECK(reader.at("a").shape == std::vector<std::int64_t>{2, 3});
    CHECK(reader.at("nothing").elements() == 0);
    CHECK(reader.at("b").elements() == 1);
    std::vector<float> values(6);
    std::int64_t const shape[] = {2, 3};
    reader.read("a", shape, values.data());
    CHECK(values[1] == -2.25f);
    CHECK(std::signbit(values[3]));
    CHECK(values[4] == std::numeric_limits<float>::denorm_min());
    std::vector<double> wide(6);
    reader.read("a", shape, wide.data());
    CHECK(wide[5] == static_cast<double>(1e30f));
  }
  CHECK_FALSE(std::filesystem::exists(folder / "file.partial"));
}

TEST_CASE("the file is laid out as the format says") {
  scratch folder;
  write_sample(folder / "file", false);
  std::string const file = get(folder / "file");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  CHECK(length % 8 == 0);
  CHECK(file[8] == '{');
  CHECK(file.size() == 8 + length + 7 * sizeof(float));
  auto const header = nlohmann::json::parse(file.substr(8, length));
  CHECK(header["a"] == nlohmann::json::parse(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})"));
  CHECK(header["nothing"]["data_offsets"] == nlohmann::json::parse("[24,24]"));
  CHECK(header["b"] == nlohmann::json::parse(R"({"dtype":"F32","shape":[],"data_offsets":[24,28]})"));
  CHECK(header["__metadata__"]["format"] == "pt");
}

TEST_CASE("doubles are kept as doubles") {
  scratch folder;
  std::vector<double> const values{1.0 / 3.0, -1e300};
  auto writer = safetensors_writer::create<double>(folder / "file", {{"x", {2}}}, {}, true);
  writer.write<double>("x", values);
  writer.commit();
  safetensors_reader const reader(folder / "file");
  reader.verify();
  std::vector<double> back(2);
  std::int64_t const shape[] = {2};
  reader.read("x", shape, back.data());
  CHECK(back == values);
}

TEST_CASE("every half and brain number converts exactly") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    auto const half = static_cast<std::uint16_t>(bits);
    float const value = mini_llm::detail::half_to_float(half);
    int const exponent = static_cast<int>((bits >> 10) & 31);
    double const fraction = static_cast<double>(bits & 1023) / 1024.0;
    double const sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
      REQUIRE(std::isnan(value) == (fraction != 0.0));
      if (fraction == 0.0) REQUIRE(static_cast<double>(value) == sign * static_cast<double>(HUGE_VALF));
    } else {
      double const expected =
          sign * (exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15));
      REQUIRE(static_cast<double>(value) == expected);
    }
    REQUIRE(std::signbit(value) == (sign < 0.0));
    REQUIRE(std::bit_cast<std::uint32_t>(mini_llm::detail::brain_to_float(half)) == bits << 16);
  }
}

TEST_CASE("F16, BF16 and F64 are read as float; other types open, but are not numbers") {
  scratch folder;
  std::string const header = R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},)"
                             R"("d":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                             R"("i":{"dtype":"I64","shape":[1],"data_offsets":[16,24]}})";
  std::string payload("\x00\x3c\x00\xc0\x80\x3f\x00\xc0", 8);  // 1, -2, 1, -2
  double const third = 1.0 / 3.0;
  payload.append(reinterpret_cast<char const*>(&third), 8);
  put(folder / "file", with_length(header.size(), header + payload + std::string(8, '\0')));
  safetensors_reader const reader(folder / "file");
  std::int64_t const two[] = {2};
  std::int64_t const one[] = {1};
  std::vector<float> values(2);
  reader.read("h", two, values.data());
  CHECK(values == std::vector<float>{1.0f, -2.0f});
  reader.read("b", two, values.data());
  CHECK(values == std::vector<float>{1.0f, -2.0f});
  reader.read("d", one, values.data());
  CHECK(values[0] == static_cast<float>(third));
  CHECK(has(weft_test::message_of<weft::error>([&] { reader.read("i", one, values.data()); }),
            "holds I64; only F32, F64, F16 and BF16 can be read as numbers"));
  CHECK(has(weft_test::message_of<weft::error>([&] { reader.read("h", one, values.data()); }),
            "has the shape [2], the model wants [1]"));
  CHECK(has(weft_test::message_of<weft::error>([&] { reader.read("x", one, values.data()); }), "has no tensor \"x\""));
}

TEST_CASE("a conversion longer than one piece reaches every element") {
  scratch folder;
  constexpr std::size_t count = (std::size_t{1} << 19) + 17;  // 4 MiB of doubles and some
  std::vector<double> values(count);
  for (std::size_t index = 0; index < count; ++index) values[index] = static_cast<double>(index);
  auto writer =
      safetensors_writer::create<double>(folder / "file", {{"x", {static_cast<std::int64_t>(count)}}}, {}, true);
  writer.write<double>("x", values);
  writer.commit();
  safetensors_reader const reader(folder / "file");
  reader.verify();
  std::vector<float> back(count);
  std::int64_t const shape[] = {static_cast<std::int64_t>(count)};
  reader.read("x", shape, back.data());
  std::size_t wrong = 0;
  for (std::size_t index = 0; index < count; ++index) wrong += back[index] == static_cast<float>(index) ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("wrong headers and absurd lengths are refused, each in its own words") {
  scratch folder;
  auto const entry = [](std::string const& name, std::string const& rest) {
    return "{\"" + name + "\":{" + rest + "}}";
  };
  struct wrong {
    std::string content;
    char const* words;
  };
  wrong const cases[] = {
      {"", "has 0 bytes, and the length of the header alone takes 8"},
      {"1234567", "has 7 bytes"},
      {with_length(0, ""), "does not begin with '{'"},
      {with_length(1, "{"), "is not JSON"},
      {with_length(~std::uint64_t{0}, "{}"),
       "says that its header has 18446744073709551615 bytes; the file has 10 in all"},
      {with_length(~std::uint64_t{0} - 7, "{}"), "bytes; the file has 10 in all"},
      {with_length(100'000'001, "{}"), "headers may have 100000000"},
      {with_length(3, "{}"), "says that its header has 3 bytes; the file has 10 in all"},
      {file_of(" {}", 0), "does not begin with '{'"},
      {file_of("[]", 0), "does not begin with '{'"},
      {file_of("{]", 0), "is not JSON"},
      {file_of("{} x", 0), "is not JSON"},
      {file_of("{\"\xff\":1}", 0), "is not JSON"},
      {file_of(std::string("{\"a\":") + std::string(100000, '['), 0), "is not JSON"},
      {file_of("{}", 3), "has 3 bytes behind its last tensor"},
      {file_of("{\"a\":5}", 0), "describes tensor \"a\" without dtype, shape and data_offsets"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1])"), 4), "without dtype, shape and data_offsets"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1)"), 4), "with more than"},
      {file_of(entry("a", R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), 4), "the unknown dtype \"F31\""},
      {file_of(entry("a", R"("dtype":32,"shape":[1],"data_offsets":[0,4])"), 4), "a dtype that is not a string"},
      {file_of(entry("a", R"("dtype":"F32","shape":1,"data_offsets":[0,4])"), 4), "a shape that is not a list"},
      {file_of(entry("a", R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
       "an extent that is not a whole number"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4),
       "an extent that is not a whole number"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1e400],"data_offsets":[0,4])"), 4), "is not JSON"},
      {file_of(entry("a", R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4])"), 4),
       "an extent that is not"},
      {file_of(entry("a", R"("dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4])"), 4),
       "an extent that is not"},
      {file_of(entry("a", R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"), 4),
       "the absurd shape"},
      {file_of(entry("a", R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), 0),
       "the absurd shape"},
      {file_of(entry("a", R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4), "4 bytes; F32 [2] takes 8"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4), "not two whole numbers"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])"), 4), "not two whole numbers"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4), "at bytes 4 to 0 of 4"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), 4),
       "at bytes 0 to 8 of 4: it was cut short"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615])"),
               4),
       "at bytes 18446744073709551612"},
      {file_of(entry("a", R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8), "a gap between tensors at byte 4"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               8),
       "tensors that overlap at byte 4"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
               12),
       "a gap between tensors at byte 8"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               8),
       "names \"a\" twice"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4), "names \"shape\" twice"},
      {file_of(R"({"__metadata__":5})", 0), "metadata that are not an object"},
      {file_of(R"({"__metadata__":{"a":5}})", 0), "metadata whose \"a\" is not a string"},
      {file_of(R"({"\u001b[2J":5})", 0), "tensor \"\\x1b[2J\""},
  };
  for (wrong const& one : cases) {
    std::string const words = refused(folder, one.content);
    CAPTURE(one.content.substr(0, 200));
    CAPTURE(words);
    CHECK(has(words, one.words));
    CHECK(has(words, (folder / "file").string()));
    CHECK(has(words, "; fetch or write it again"));
    CHECK(words.size() < 1000);
  }
  CHECK(has(opened(folder / "missing"), "check the spelling of the path"));
  CHECK(has(opened(folder.path()), "is not a file"));
}

TEST_CASE("legal files that are easily refused by mistake") {
  scratch folder;
  CHECK(refused(folder, file_of("{}", 0)).empty());
  CHECK(refused(folder, file_of("{}      ", 0)).empty());
  CHECK(refused(folder, file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4)).empty());
  // In another order than their bytes; empty tensors anywhere; an extent of 0 beside a huge one.
  CHECK(
      refused(folder,
              file_of(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                      R"("e":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},)"
                      R"("z":{"dtype":"F64","shape":[4611686018427387904,0,4611686018427387904],"data_offsets":[8,8]},)"
                      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                      8))
          .empty());
}

TEST_CASE("a file cut short at any length is refused") {
  scratch folder;
  write_sample(folder / "whole", true);
  std::string const whole = get(folder / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    REQUIRE_FALSE(refused(folder, whole.substr(0, length)).empty());
  }
  REQUIRE(refused(folder, whole).empty());
  REQUIRE_FALSE(refused(folder, whole + "x").empty());
}

TEST_CASE("any flipped bit is noticed") {
  scratch folder;
  write_sample(folder / "whole", true);
  std::string const whole = get(folder / "whole");
  for (std::size_t place = 0; place < whole.size(); ++place)
    for (int bit = 0; bit < 8; ++bit) {
      std::string file = whole;
      file[place] = static_cast<char>(file[place] ^ (1 << bit));
      put(folder / "file", file);
      bool has_checksum = false;
      std::string const words = weft_test::message_of<weft::error>([&] {
        safetensors_reader const reader(folder / "file");
        has_checksum = reader.has_checksum();
        reader.verify();
      });
      CAPTURE(place);
      CAPTURE(bit);
      // The one thing a flip can do unnoticed is to rename the checksum away; checkpoints ask for it, too.
      REQUIRE((!words.empty() || !has_checksum));
    }
}

TEST_CASE("garbage never does more than throw weft::error") {
  scratch folder;
  write_sample(folder / "whole", true);
  std::string const whole = get(folder / "whole");
  std::string const alphabet = "{}[]\",:0123456789eE+-.\\u \tF32shapedtype_";
  std::mt19937 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    std::string file = whole;
    for (unsigned change = 0; change < 1 + random() % 6; ++change) {
      std::size_t const place = random() % file.size();
      switch (random() % 4) {
        case 0: file[place] = static_cast<char>(random()); break;
        case 1: file[place] = alphabet[random() % alphabet.size()]; break;
        case 2: file.erase(place, random() % 16); break;
        default: file.insert(place, file.substr(random() % file.size(), random() % 16)); break;
      }
      if (file.empty()) file = "x";
    }
    put(folder / "file", file);
    std::string const words = weft_test::message_of<weft::error>([&] {
      safetensors_reader const reader(folder / "file");
      reader.verify();
      std::vector<float> values(16);
      for (auto const& tensor : reader.tensors())
        if (tensor.elements() <= 16 && tensor.type == "F32") reader.read(tensor.name, tensor.shape, values.data());
    });
    REQUIRE((words.empty() || words.starts_with("mini_llm::safetensors: ")));
  }
}

TEST_CASE("tensors out of turn, missing or declared twice are refused, and leave nothing behind") {
  scratch folder;
  put(folder / "file", "older");
  std::vector<float> const three(3);
  auto const attempt = [&](auto action) {
    return weft_test::message_of<weft::error>([&] {
      auto writer = safetensors_writer::create<float>(folder / "file", {{"a", {3}}, {"b", {3}}}, {}, true);
      action(writer);
    });
  };
  CHECK(has(attempt([&](auto& writer) { writer.template write<float>("b", three); }), "\"a\" of 12 bytes comes next"));
  CHECK(has(attempt([&](auto& writer) { writer.template write<float>("a", std::span(three).first(2)); }),
            "of 8 bytes is out of turn"));
  CHECK(has(attempt([&](auto& writer) { writer.template write<double>("a", std::vector<double>(3)); }), "out of turn"));
  CHECK(has(attempt([&](auto& writer) {
              writer.template write<float>("a", three);
              writer.commit();
            }),
            "lacks \"b\""));
  CHECK(has(weft_test::message_of<weft::error>([&] {
              safetensors_writer::create<float>(folder / "file", {{"a", {3}}, {"a", {3}}}, {}, true);
            }),
            "declared twice"));
  CHECK(get(folder / "file") == "older");
  CHECK_FALSE(std::filesystem::exists(folder / "file.partial"));
}

TEST_CASE("weights to start from: both namings, every tensor accounted for, a tied head checked") {
  scratch folder;
  std::vector<weft::parameters::parameter_descriptor> model{parameter("transformer.wte.weight", 4, 2),
                                                            parameter("transformer.h.0.mlp.c_fc.weight", 2, 8),
                                                            parameter("transformer.wte.weight", 4, 2)};
  model[2].use_site = 1;
  std::vector<float> table{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> const weight(16, 0.5f);
  auto const file = [&](std::vector<safetensors_writer::entry> const& entries, std::vector<float> const& head) {
    auto writer = safetensors_writer::create<float>(folder / "file", entries, {}, false);
    for (auto const& entry : entries)
      writer.write<float>(entry.name, entry.name == "lm_head.weight" ? std::span<float const>(head)
                                      : entry.shape[0] == 4          ? std::span<float const>(table)
                                                                     : std::span<float const>(weight));
    writer.commit();
  };
  auto const words = [&] {
    return weft_test::message_of<weft::error>([&] {
      mini_llm::init_weights const weights(folder / "file", model);
      std::vector<double> values(8);
      weights.read(model[0], values.data());
      REQUIRE(values[7] == 8.0);
    });
  };
  auto writer = mini_llm::begin_export<float>(folder / "file", model);
  writer.write<float>("transformer.wte.weight", table);
  writer.write<float>("transformer.h.0.mlp.c_fc.weight", weight);
  writer.commit();
  CHECK(words() == "");
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {2, 8}}}, {});
  CHECK(words() == "");
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {2, 8}}, {"lm_head.weight", {4, 2}}}, table);
  CHECK(words() == "");
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {2, 8}}, {"lm_head.weight", {4, 2}}}, std::vector<float>(8));
  CHECK(has(words(), "is not the embedding's table"));
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {2, 8}}, {"h.0.attn.bias", {2, 8}}}, {});
  CHECK(words() == "");
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {2, 8}}, {"h.1.mlp.c_fc.weight", {2, 8}}}, {});
  CHECK(has(words(), "the model has no tensor \"h.1.mlp.c_fc.weight\""));
  file({{"wte.weight", {4, 2}}}, {});
  CHECK(has(words(), "has no tensor \"transformer.h.0.mlp.c_fc.weight\""));
  file({{"wte.weight", {4, 2}}, {"h.0.mlp.c_fc.weight", {8, 2}}}, {});
  CHECK(has(words(), "has the shape [8, 2], the model wants [2, 8]"));
}

TEST_CASE("weights to start from: a Llama's head is its own, the bare model's names and constants are known") {
  scratch folder;
  std::vector<weft::parameters::parameter_descriptor> const model{parameter("model.embed_tokens.weight", 4, 2),
                                                                  parameter("model.layers.0.mlp.up_proj.weight", 3, 2),
                                                                  parameter("lm_head.weight", 4, 2)};
  std::vector<float> const table{1, 2, 3, 4, 5, 6, 7, 8};
  auto const words = [&](std::vector<safetensors_writer::entry> const& entries) {
    auto writer = safetensors_writer::create<float>(folder / "file", entries, {}, false);
    for (auto const& entry : entries) {
      std::vector<float> const values(table.rbegin(), table.rbegin() + entry.shape[0] * entry.shape[1]);
      writer.write<float>(entry.name, entry.name == "lm_head.weight" ? values : std::vector<float>(values.size()));
    }
    writer.commit();
    return weft_test::message_of<weft::error>([&] {
      mini_llm::init_weights const weights(folder / "file", model);
      std::vector<double> values(8);
      weights.read(model[2], values.data());
      REQUIRE(values[7] == 1.0);
    });
  };
  safetensors_writer::entry const embedding{"model.embed_tokens.weight", {4, 2}};
  safetensors_writer::entry const up{"model.layers.0.mlp.up_proj.weight", {3, 2}};
  safetensors_writer::entry const head{"lm_head.weight", {4, 2}};
  CHECK(words({embedding, up, head}) == "");
  CHECK(words({{"embed_tokens.weight", {4, 2}}, {"layers.0.mlp.up_proj.weight", {3, 2}}, head}) == "");
  CHECK(words({embedding, up, head, {"model.layers.0.self_attn.rotary_emb.inv_freq", {1, 2}}}) == "");
  CHECK(has(words({embedding, up}), "has no tensor \"lm_head.weight\""));  // a tied Llama
  CHECK(has(words({embedding, {"model.layers.0.mlp.up_proj.weight", {2, 3}}, head}),
            "has the shape [2, 3], the model wants [3, 2]"));
  CHECK(has(words({embedding, up, head, {"model.layers.0.self_attn.q_proj.bias", {1, 2}}}),
            "the model has no tensor \"model.layers.0.self_attn.q_proj.bias\""));
}
