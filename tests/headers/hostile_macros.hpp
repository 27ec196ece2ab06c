// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Macros that HPC codes, their build files and system headers do define. None may reach into weft.

// -DM=8 on a compiler's command line, <complex.h>'s I, loop bounds of Fortran ancestry
#undef A
#define A 8
#undef B
#define B 8
#undef C
#define C 8
#undef D
#define D 8
#undef E
#define E 8
#undef F
#define F 8
#undef G
#define G 8
#undef H
#define H 8
#undef I
#define I 8
#undef J
#define J 8
#undef K
#define K 8
#undef L
#define L 8
#undef M
#define M 8
#undef N
#define N 8
#undef O
#define O 8
#undef P
#define P 8
#undef Q
#define Q 8
#undef R
#define R 8
#undef S
#define S 8
#undef T
#define T 8
#undef U
#define U 8
#undef V
#define V 8
#undef W
#define W 8
#undef X
#define X 8
#undef Y
#define Y 8
#undef Z
#define Z 8
#undef M0
#define M0 8
#undef M1
#define M1 8
#undef M2
#define M2 8
#undef N0
#define N0 8
#undef N1
#define N1 8
#undef N2
#define N2 8
#undef K0
#define K0 8
#undef K1
#define K1 8
#undef K2
#define K2 8
#undef P0
#define P0 8
#undef P1
#define P1 8
#undef P2
#define P2 8
#undef T0
#define T0 8
#undef T1
#define T1 8
#undef T2
#define T2 8
#undef L0
#define L0 8
#undef L1
#define L1 8
#undef L2
#define L2 8
#undef S0
#define S0 8
#undef S1
#define S1 8
#undef S2
#define S2 8
#undef B0
#define B0 8
#undef B1
#define B1 8
#undef B2
#define B2 8
#undef D0
#define D0 8
#undef D1
#define D1 8
#undef D2
#define D2 8

// X11, Windows, old C codes, debug switches
#define Status int
#define Bool int
#define None 0L
#define Success 0
#define Always 2
#define Complex 1
#define Unsorted 0
#define ERROR 0
#define WARNING 1
#define INFO 2
#define DEBUG 1
#define VERBOSE 1
#define TEST 1
#define OK 0
#undef TRUE
#undef FALSE
#define TRUE 1
#define FALSE 0
#define near
#define far
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define DELETE 1
#define CONST const
#define VOID void
#define REAL double
#define FLOAT float
#define DIM 3
#define NDIM 3
#define SIZE 64
#define RANK 0
#define RANKS 4
#define STAGE 0
#define STAGES 4
#define BATCH 8
#define LAYERS 12
#define BLOCK_SIZE 256
#define THREADS 2
#define PI 3.14159
#define EPS 1e-6
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ABS(a) ((a) < 0 ? -(a) : (a))
#define SWAP(a, b) \
  do {             \
  } while (0)
#define CHECK(x) \
  do {           \
  } while (0)
#define ASSERT(x) \
  do {            \
  } while (0)
#define LOG(x) \
  do {         \
  } while (0)

// <windows.h> without NOMINMAX and C codes before it; <sys/sysmacros.h>
#undef min
#undef max
#undef major
#undef minor
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define major(device) 0
#define minor(device) 0
