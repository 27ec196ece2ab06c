// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scratch.hpp"

#include <mini_llm/sampler.hpp>
#include <mini_llm/token_data.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

using mini_llm::data_format;
using weft_test::has;
using weft_test::put;

namespace {

template <class Number>
std::string raw(std::vector<Number> const& numbers) {
  return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// A file of llm.c's form, byte for byte as its data_common.py writes one.
std::string llmc(std::int32_t magic, std::int32_t version, std::int32_t count, std::string const& tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return raw(header) + tokens;
}
std::string gpt2_shard(std::vector<std::uint16_t> const& tokens) {
  return llmc(20240520, 1, static_cast<std::int32_t>(tokens.size()), raw(tokens));
}
std::string llama3_shard(std::vector<std::uint32_t> const& tokens) {
  return llmc(20240801, 7, static_cast<std::int32_t>(tokens.size()), raw(tokens));
}

std::vector<std::int32_t> all_of(mini_llm::token_stream const& stream) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(stream.size()), -7);
  stream.copy(0, stream.size(), tokens.data());
  return tokens;
}

mini_llm::token_data load(weft_test::fs::path const& path, data_format format = data_format::automatic,
                          int vocabulary = 50257) {
  return mini_llm::load_data(path, format, vocabulary, "gpt2-124m");
}

std::string refusal(weft_test::fs::path const& path, data_format format = data_format::automatic,
                    int vocabulary = 50257) {
  return weft_test::message_of<weft::error>([&] { (void)load(path, format, vocabulary); });
}

std::vector<std::uint16_t> counted(int first, int last) {
  std::vector<std::uint16_t> tokens;
  for (int token = first; token < last; ++token) tokens.push_back(static_cast<std::uint16_t>(token));
  return tokens;
}

}  // namespace

TEST_CASE("token data: a shard of llm.c's is known by its magic number, whatever its name; the last tenth validates") {
  weft_test::scratch const folder;
  put(folder / "anything", gpt2_shard(counted(50207, 50257)));
  auto const data = load(folder / "anything");
  CHECK(data.format == data_format::llmc);
  CHECK_FALSE(data.is_text());
  CHECK(data.training.size() == 45);
  CHECK(all_of(data.validation) == std::vector<std::int32_t>{50252, 50253, 50254, 50255, 50256});
  CHECK(all_of(data.training).front() == 50207);
  CHECK(data.notes.empty());
}

TEST_CASE("token data: uint32 shards of version 7, and nanoGPT's files without a header") {
  weft_test::scratch const folder;
  put(folder / "wide.bin", llama3_shard({1, 50256, 70000, 128255, 5, 6, 7, 8, 9, 10}));
  CHECK(all_of(load(folder / "wide.bin", data_format::automatic, 128256).training) ==
        std::vector<std::int32_t>{1, 50256, 70000, 128255, 5, 6, 7, 8, 9});
  put(folder / "train.bin", raw(std::vector<std::uint16_t>{40, 0, 50256, 3, 2, 1, 0, 9, 8, 7}));
  auto const data = load(folder / "train.bin", data_format::uint16);
  CHECK(all_of(data.training) == std::vector<std::int32_t>{40, 0, 50256, 3, 2, 1, 0, 9, 8});
  CHECK(all_of(data.validation) == std::vector<std::int32_t>{7});
}

TEST_CASE("token data: shards of a folder lie end to end in the order of their names, parts by their names") {
  weft_test::scratch const folder;
  put(folder / "d/fineweb_train_000002.bin", gpt2_shard({4, 5, 6}));
  put(folder / "d/fineweb_train_000001.bin", gpt2_shard({1, 2, 3}));
  put(folder / "d/fineweb_val_000000.bin", gpt2_shard({90, 91}));
  put(folder / "d/readme.txt", "tokens of a test");
  put(folder / "d/other.bin", gpt2_shard({7, 7}));
  auto const data = load(folder / "d");
  CHECK(all_of(data.training) == std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  CHECK(all_of(data.validation) == std::vector<std::int32_t>{90, 91});
  CHECK(data.documents ==
        std::vector<std::string>{"fineweb_train_000001.bin", "fineweb_train_000002.bin", "fineweb_val_000000.bin"});
  CHECK(data.notes.size() == 2);
  std::int32_t middle[4] = {};
  data.training.copy(1, 4, middle);  // over the end of a shard
  CHECK(std::vector<std::int32_t>(middle, middle + 4) == std::vector<std::int32_t>{2, 3, 4, 5});

  // nanoGPT's names, and what only looks like a part's name
  put(folder / "n/train.bin", raw(counted(0, 20)));
  put(folder / "n/val.bin", raw(counted(30, 33)));
  put(folder / "n/training.bin", raw(counted(0, 9)));
  auto const nano = load(folder / "n", data_format::uint16);
  CHECK(nano.training.size() == 20);
  CHECK(all_of(nano.validation) == std::vector<std::int32_t>{30, 31, 32});

  // no part is marked: the last tenth of the whole
  put(folder / "u/a.bin", gpt2_shard(counted(0, 15)));
  put(folder / "u/b.bin", gpt2_shard(counted(15, 20)));
  CHECK(all_of(load(folder / "u").validation) == std::vector<std::int32_t>{18, 19});
  put(folder / "v/x_val_1.bin", gpt2_shard({1, 2}));
  CHECK(has(refusal(folder / "v"), "no *.bin files to train on, only *val* ones"));
}

TEST_CASE("token data: what auto takes for text, and what it does not guess") {
  weft_test::scratch const folder;
  put(folder / "text", "a plain text, long enough to be cut into its parts");
  auto const text = load(folder / "text");
  CHECK(text.is_text());
  CHECK(text.hash == mini_llm::load_text(folder / "text").hash);
  CHECK(all_of(text.training)[0] == 'a');
  put(folder / "raw.bin", raw(counted(0, 20)));
  CHECK(has(refusal(folder / "raw.bin"), "say --data-format uint16"));
  CHECK(load(folder / "raw.bin", data_format::text, 256).training.size() == 36);
  // a folder is text unless a .bin in it has a magic number; then every .bin must
  put(folder / "mixed/a.txt", "some words of a text that is long enough");
  put(folder / "mixed/raw.bin", raw(counted(0, 20)));
  CHECK(load(folder / "mixed").is_text());
  put(folder / "mixed/shard.bin", gpt2_shard({1, 2, 3}));
  CHECK(has(refusal(folder / "mixed"), "raw.bin has 40 bytes, and llm.c's header alone has 1024"));
}

TEST_CASE("token data: the hash is of tokens and of the cut") {
  weft_test::scratch const folder;
  put(folder / "a", gpt2_shard(counted(0, 40)));
  put(folder / "b", gpt2_shard(counted(1, 41)));
  put(folder / "c/x.bin", gpt2_shard(counted(0, 25)));
  put(folder / "c/y.bin", gpt2_shard(counted(25, 40)));
  put(folder / "d/x_train.bin", gpt2_shard(counted(0, 25)));
  put(folder / "d/y_val.bin", gpt2_shard(counted(25, 40)));
  auto const hash = load(folder / "a").hash;
  CHECK(hash == load(folder / "a").hash);
  CHECK(hash != load(folder / "b").hash);
  CHECK(hash == load(folder / "c").hash);  // other files, the same tokens and parts
  CHECK(hash != load(folder / "d").hash);
}

TEST_CASE("token data: windows of shards are the windows of the same tokens as a text") {
  weft_test::scratch const folder;
  std::string text;
  std::vector<std::uint16_t> tokens;
  for (int index = 0; index < 900; ++index) text += static_cast<char>('a' + index * index % 23);
  for (char const each : text) tokens.push_back(static_cast<unsigned char>(each));
  put(folder / "text", text);
  put(folder / "s/1.bin", gpt2_shard({tokens.begin(), tokens.begin() + 333}));
  put(folder / "s/2.bin", gpt2_shard({tokens.begin() + 333, tokens.begin() + 334}));
  put(folder / "s/3.bin", gpt2_shard({tokens.begin() + 334, tokens.end()}));
  auto const one = load(folder / "text");
  auto const other = load(folder / "s");
  mini_llm::batch_arrays left, right;
  for (std::uint64_t step = 0; step < 20; ++step) {
    mini_llm::training_sampler(one.training, 64, 3).fill(step, 5, left);
    mini_llm::training_sampler(other.training, 64, 3).fill(step, 5, right);
    CHECK(left.inputs == right.inputs);
    CHECK(left.targets == right.targets);
  }
  mini_llm::validation_windows const first(one.validation, 16, 2, 0);
  mini_llm::validation_windows const second(other.validation, 16, 2, 0);
  REQUIRE(first.batches() == second.batches());
  for (int batch = 0; batch < first.batches(); ++batch) {
    first.fill(batch, left);
    second.fill(batch, right);
    CHECK(left.inputs == right.inputs);
    CHECK(left.targets == right.targets);
  }
}

TEST_CASE("token data: unigram entropy, known values") {
  std::vector<std::uint8_t> const bytes{0, 1, 2, 3, 0, 1, 2, 3};
  CHECK(mini_llm::unigram_entropy(bytes, 4) == doctest::Approx(std::log(4.0)).epsilon(1e-14));
  std::vector<std::uint8_t> const same{2, 2, 2};
  CHECK(mini_llm::unigram_entropy(same, 3) == 0.0);
  CHECK(mini_llm::unigram_entropy({}, 3) == 0.0);
}

TEST_CASE("token data: hostile shards are refused, with the numbers") {
  weft_test::scratch const folder;
  auto const refused = [&](std::string const& name, std::string const& content, std::string const& words,
                           data_format format = data_format::llmc) {
    CAPTURE(name);
    put(folder / name, content);
    std::string const said = refusal(folder / name, format);
    CAPTURE(said);
    CHECK(has(said, name));
    CHECK(has(said, words));
    CHECK(has(said, ";"));
  };
  std::string const good = gpt2_shard({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  refused("empty", "", "has 0 bytes, and llm.c's header alone has 1024");
  refused("header_only_half", good.substr(0, 700), "has 700 bytes");
  refused("truncated", good.substr(0, good.size() - 1),
          "10 tokens, which with the header is 1044 bytes, and it has 1043");
  refused("claims_more", llmc(20240520, 1, 11, raw(counted(0, 10))), "it was cut off: copy it again");
  refused("claims_less", llmc(20240520, 1, 9, raw(counted(0, 10))), "it was written to after its header");
  refused("claims_most", llmc(20240520, 1, 2147483647, raw(counted(0, 10))), "is 4294968318 bytes");
  refused("claims_most_wide", llmc(20240801, 7, 2147483647, raw(counted(0, 10))), "is 8589935612 bytes");
  refused("negative", llmc(20240520, 1, -1, raw(counted(0, 10))), "says that it has -1 tokens");
  refused("most_negative", llmc(20240520, 1, -2147483647 - 1, raw(counted(0, 10))), "-2147483648 tokens");
  refused("none", llmc(20240520, 1, 0, ""), "says that it has 0 tokens");
  refused("version", llmc(20240520, 2, 10, raw(counted(0, 10))), "is version 2");
  refused("version_of_the_other", llmc(20240801, 1, 10, raw(counted(0, 20))), "and version 7 is known");
  refused("magic", llmc(20240521, 1, 10, raw(counted(0, 10))), "begins with 20240521");
  refused("big_endian", llmc(-1999096831, 0x01000000, 10, raw(counted(0, 10))), "begins with -1999096831");
  refused("odd", std::string(21, 'x'), "has 21 bytes, and tokens of two bytes", data_format::uint16);
  refused("nothing", "", "is empty", data_format::uint16);
}

TEST_CASE("token data: a token that the preset has no place for is named, with what would do") {
  weft_test::scratch const folder;
  put(folder / "a.bin", gpt2_shard({1, 255, 3}));
  CHECK(load(folder / "a.bin", data_format::llmc, 256).training.size() == 3);
  put(folder / "b.bin", gpt2_shard({1, 2, 256, 300}));
  std::string const said =
      weft_test::message_of<weft::error>([&] { (void)mini_llm::load_data(folder / "b.bin", {}, 256, "nano"); });
  CHECK(has(said, "b.bin: token 2 (at byte 1028) is 256, and --preset nano has tokens 0 to 255; --preset gpt2-124m"));
  put(folder / "c.bin", llama3_shard({1, 4000000000U}));
  CHECK(has(refusal(folder / "c.bin"), "token 1 (at byte 1028) is 4000000000"));
  CHECK(has(refusal(folder / "c.bin"), "no preset has so many"));
  // far inside a file, beyond the pieces that it is read in
  std::vector<std::uint16_t> many(700000, 9);
  many[600001] = 50257;
  put(folder / "far.bin", gpt2_shard(many));
  CHECK(has(refusal(folder / "far.bin"), "token 600001 (at byte 1201026) is 50257"));
  CHECK(weft::model::gpt2_124m.vocabulary == 50257);  // the tokens of GPT-2, <|endoftext|> (50256) among them
}

TEST_CASE("token data: what is no file, two tokenizers, data that change during the run") {
  weft_test::scratch const folder;
  REQUIRE(::mkfifo((folder / "pipe.bin").c_str(), 0600) == 0);
  for (auto const format : {data_format::automatic, data_format::llmc, data_format::uint16})
    CHECK(has(refusal(folder / "pipe.bin", format), "is not a regular file"));
  CHECK(has(refusal("/dev/zero", data_format::uint16), "is not a regular file"));
  CHECK(has(refusal(folder / "gone.bin", data_format::llmc), "check the spelling"));
  weft_test::fs::create_directories(folder / "empty");
  CHECK(has(refusal(folder / "empty", data_format::llmc), "holds no token files (*.bin)"));
  put(folder / "two/a.bin", gpt2_shard({1, 2, 3}));
  put(folder / "two/b.bin", llama3_shard({1, 2, 3}));
  CHECK(has(refusal(folder / "two"), "two tokenizers"));

  put(folder / "s.bin", gpt2_shard(counted(0, 100)));
  auto const data = load(folder / "s.bin", data_format::automatic, 100);
  std::int32_t tokens[100];
  put(folder / "s.bin", gpt2_shard(counted(50, 150)));
  CHECK(has(weft_test::message_of<weft::error>([&] { data.training.copy(0, 90, tokens); }), "no longer below 100"));
  put(folder / "s.bin", "cut");
  CHECK(has(weft_test::message_of<weft::error>([&] { data.training.copy(0, 90, tokens); }), "cut short"));
}

TEST_CASE("token data: sequences that no part has room for") {
  weft_test::scratch const folder;
  put(folder / "a", gpt2_shard(counted(0, 100)));
  auto const data = load(folder / "a");
  CHECK_NOTHROW(mini_llm::require_sequence_fits(data, 9));
  CHECK(has(
      weft_test::message_of<weft::error>([&] { mini_llm::require_sequence_fits(data, 10); }),
      "--seq 10 is longer than the data (90 tokens to train on, 10 to validate on); the largest possible here is 9"));
  put(folder / "b", gpt2_shard({1, 2, 3}));
  auto const tiny = load(folder / "b");
  CHECK(has(weft_test::message_of<weft::error>([&] { mini_llm::require_sequence_fits(tiny, 1); }), "name more data"));
}
