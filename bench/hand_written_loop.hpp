// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace bench {

/// 1F1B as one writes it by hand for exactly this case: a buffer per micro-batch, all receives posted at the start, no
/// headers, no checks. Waits with MPI_Test and sched_yield, as weft does where ranks outnumber cores; `yields` says so.
template <class Forward, class Backward>
class hand_written_1f1b {
 public:
  hand_written_1f1b(MPI_Comm communicator, int micro_batches, std::size_t bytes, bool yields, Forward forward,
                    Backward backward)
      : communicator_(communicator),
        micro_batches_(micro_batches),
        bytes_(bytes),
        yields_(yields),
        forward_(forward),
        backward_(backward),
        buffers_(4 * static_cast<std::size_t>(micro_batches), std::vector<char>(bytes)),
        requests_(4 * static_cast<std::size_t>(micro_batches), MPI_REQUEST_NULL) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &size_);
  }

  void step() {
    int const warm_up = std::min(size_ - rank_ - 1, micro_batches_);
    for (int k = 0; k < micro_batches_; ++k) {
      if (rank_ > 0) receive(0, k, rank_ - 1, 0);
      if (rank_ + 1 < size_) receive(1, k, rank_ + 1, 1);
    }
    for (int k = 0; k < warm_up; ++k) forward(k);
    for (int k = 0; k + warm_up < micro_batches_; ++k) {
      forward(k + warm_up);
      backward(k);
    }
    for (int k = micro_batches_ - warm_up; k < micro_batches_; ++k) backward(k);
    for (auto& each : requests_) wait(each);
  }

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
  void forward(int k) {
    if (rank_ > 0) wait(requests_[place(0, k)]);
    forward_();
    if (rank_ + 1 < size_) send(2, k, rank_ + 1, 0);
  }
  void backward(int k) {
    if (rank_ + 1 < size_) wait(requests_[place(1, k)]);
    backward_();
    if (rank_ > 0) send(3, k, rank_ - 1, 1);
  }

  MPI_Comm communicator_;
  int micro_batches_;
  std::size_t bytes_;
  bool yields_;
  Forward forward_;
  Backward backward_;
  std::vector<std::vector<char>> buffers_;  // received F, received B, sent F, sent B
  std::vector<MPI_Request> requests_;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace bench
