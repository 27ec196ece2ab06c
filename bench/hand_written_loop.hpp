// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace bench {

/// What one writes by hand below a schedule, for exactly this case: a buffer per micro-batch, all receives posted at
/// the start, no headers, no checks. Waits with MPI_Test and sched_yield, as weft does where ranks outnumber cores;
/// `yields` says so.
class hand_written_posts {
 public:
  hand_written_posts(MPI_Comm communicator, int micro_batches, std::size_t bytes, bool yields)
      : communicator_(communicator),
        micro_batches_(micro_batches),
        bytes_(bytes),
        yields_(yields),
        buffers_(4 * static_cast<std::size_t>(micro_batches), std::vector<char>(bytes)),
        requests_(4 * static_cast<std::size_t>(micro_batches), MPI_REQUEST_NULL) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &size_);
  }

 protected:
  void post_receives() {
    for (int k = 0; k < micro_batches_; ++k) {
      if (rank_ > 0) receive(0, k, rank_ - 1, 0);
      if (rank_ + 1 < size_) receive(1, k, rank_ + 1, 1);
    }
  }
  void wait_for_activations(int k) {
    if (rank_ > 0) wait(requests_[place(0, k)]);
  }
  void send_activations(int k) {
    if (rank_ + 1 < size_) send(2, k, rank_ + 1, 0);
  }
  void wait_for_gradients(int k) {
    if (rank_ + 1 < size_) wait(requests_[place(1, k)]);
  }
  void send_gradients(int k) {
    if (rank_ > 0) send(3, k, rank_ - 1, 1);
  }
  void wait_for_all() {
    for (auto& each : requests_) wait(each);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int micro_batches() const { return micro_batches_; }
  [[nodiscard]] int warm_up() const { return std::min(size_ - rank_ - 1, micro_batches_); }

 private:
  std::size_t place(int kind, int k) const {
    return static_cast<std::size_t>(kind) * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(k);
  }
  void receive(int kind, int k, int peer, int tag) {
    MPI_Irecv(buffers_[place(kind, k)].data(), static_cast<int>(bytes_), MPI_BYTE, peer, tag, communicator_,
              &requests_[place(kind, k)]);
  }
  void send(int kind, int k, int peer, int tag) {
    MPI_Isend(buffers_[place(kind, k)].data(), static_cast<int>(bytes_), MPI_BYTE, peer, tag, communicator_,
              &requests_[place(kind, k)]);
  }
  void wait(MPI_Request& request) const {
    for (int is_done = 0;;) {
      MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      if (is_done != 0) return;
      if (yields_) sched_yield();
    }
  }

  MPI_Comm communicator_;
  int micro_batches_;
  std::size_t bytes_;
  bool yields_;
  std::vector<std::vector<char>> buffers_;  // received F, received B, sent F, sent B
  std::vector<MPI_Request> requests_;
  int rank_ = 0;
  int size_ = 0;
};

/// 1F1B.
template <class Forward, class Backward>
class hand_written_1f1b : hand_written_posts {
 public:
  hand_written_1f1b(MPI_Comm communicator, int micro_batches, std::size_t bytes, bool yields, Forward forward,
                    Backward backward)
      : hand_written_posts(communicator, micro_batches, bytes, yields),
        forward_(forward),
        backward_(backward) {}

  void step() {
    int const warm = warm_up();
    post_receives();
    for (int k = 0; k < warm; ++k) forward(k);
    for (int k = 0; k + warm < micro_batches(); ++k) {
      forward(k + warm);
      backward(k);
    }
    for (int k = micro_batches() - warm; k < micro_batches(); ++k) backward(k);
    wait_for_all();
  }

 private:
  void forward(int k) {
    wait_for_activations(k);
    forward_();
    send_activations(k);
  }
  void backward(int k) {
    wait_for_gradients(k);
    backward_();
    send_gradients(k);
  }

  Forward forward_;
  Backward backward_;
};

/// ZB-H1: the weight gradient of micro-batch k after the input gradient of k + rank.
template <class Forward, class Input, class Weight>
class hand_written_zb_h1 : hand_written_posts {
 public:
  hand_written_zb_h1(MPI_Comm communicator, int micro_batches, std::size_t bytes, bool yields, Forward forward,
                     Input input, Weight weight)
      : hand_written_posts(communicator, micro_batches, bytes, yields),
        forward_(forward),
        input_(input),
        weight_(weight) {}

  void step() {
    int const warm = warm_up();
    int weights = 0;
    post_receives();
    for (int k = 0; k < warm; ++k) forward(k);
    for (int k = 0; k < micro_batches(); ++k) {
      if (k + warm < micro_batches()) forward(k + warm);
      wait_for_gradients(k);
      input_();
      send_gradients(k);
      if (k >= rank()) {
        weight_();
        ++weights;
      }
    }
    for (; weights < micro_batches(); ++weights) weight_();
    wait_for_all();
  }

 private:
  void forward(int k) {
    wait_for_activations(k);
    forward_();
    send_activations(k);
  }

  Forward forward_;
  Input input_;
  Weight weight_;
};

}  // namespace bench
