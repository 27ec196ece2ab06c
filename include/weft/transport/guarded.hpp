// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>

#include <exception>
#include <string>

namespace weft::inline v1::transport {

/// Runs `function` and, if it throws, tells every other rank before the exception goes on: who waits for this rank
/// learns of it within its next few tests. What all ranks throw alike, or heard from another rank, is not announced.
template <class Function>
decltype(auto) guarded(endpoint& door, Function&& function) {
  auto const own_rank = [&] { return "rank " + std::to_string(door.global_rank(door.rank())); };
  try {
    return function();
  } catch (remote_error const&) {
    throw;
  } catch (agreed_error const&) {
    throw;
  } catch (memory_error const& failure) {
    memory_error const named = failure.on_rank(door.global_rank(door.rank()));
    door.announce_failure(named.what());
    throw named;
  } catch (error const& failure) {
    door.announce_failure(failure.what());
    throw;
  } catch (std::exception const& failure) {
    door.announce_failure(own_rank() + ": " + failure.what());
    throw;
  } catch (...) {
    door.announce_failure(own_rank() + ": an exception that is no std::exception");
    throw;
  }
}

}  // namespace weft::inline v1::transport
