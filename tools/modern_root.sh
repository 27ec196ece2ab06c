#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/modern_root.sh: a private Debian sid, so that weft meets Kokkos 5 with OpenMP, MPICH 5, Open MPI 6 and g++ 16 on a
# machine that has none of them. Nothing of sid touches the machine itself: no package, no source list, and the root's
# mounts live in a mount namespace of their own, which ends with the command.
#
#   tools/modern_root.sh make                    makes the root if it is not there: 70 s, 300 MB to download, 1.2 GB on disk
#   tools/modern_root.sh run <command> [arg]...  makes it, then runs the command in it: this source tree is /src, read-only
#                                                and the working folder; $WEFT_MODERN_OUT is /out
#   tools/modern_root.sh drop                    deletes it
#
# With --hip before make or run, the root has AMD's compiler too (hipcc, 62 MB to download, 320 MB on disk), and hipBLAS's
# and RCCL's headers with hipBLAS's library unpacked under /opt/weft-hip: what compiling for HIP wants, not what running does.
#
# Needs to be root, mmdebstrap (or an apt-get that can install it), and a Debian mirror among the machine's apt sources,
# whose packages are checked by signature as always.
#
# Exit: that of the command; 75 when the root cannot be had, with the reason in one line.
# Environment:
#   WEFT_MODERN_ROOT  where the root lies; default: weft/modern under XDG_CACHE_HOME where that is set, else build/modern/root
#   WEFT_MODERN_OUT   the folder that the command may write as /out; default: build/modern/out
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=${WEFT_MODERN_ROOT:-${XDG_CACHE_HOME:+$XDG_CACHE_HOME/weft/modern}}
root=${root:-$here/build/modern/root}
out=${WEFT_MODERN_OUT:-$here/build/modern/out}

packages=(g++ cmake ninja-build ccache mpich libmpich-dev openmpi-bin libopenmpi-dev libkokkos-dev libopenblas-dev
  doctest-dev libbenchmark-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libxxhash-dev python3)
# Another stamp is another root: count up when what is done below to the packages changes.
stamp="1 ${packages[*]}"

hip_packages=(hipcc)
# RCCL's header of sid is that of NCCL 2.13; experimental has 2.27's. Nothing else comes from there: apt takes from it
# what is asked for by name alone.
hip_unpacked=(libhipblas-dev libhipblas2 libhipblas-common-dev librccl-dev/experimental)
hip_stamp="2 ${hip_packages[*]} ${hip_unpacked[*]}"
with_hip=no

say() { printf '[modern root] %s\n' "$*" >&2; }
lack() {
  say "NOT TO BE HAD: $*"
  exit 75
}

inside() { # inside <command>...: in the root, with /proc, /sys and /dev as MPI and hwloc want them
  # shellcheck disable=SC2016  # these names are the inner shell's
  unshare --mount bash -c '
    set -e
    root=$1 source=$2 out=$3
    shift 3
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mkdir -p "$root/src" "$root/out"
    mount --bind "$source" "$root/src"
    mount -o remount,bind,ro "$root/src"
    mount --bind "$out" "$root/out"
    exec chroot "$root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
      PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin sh -c "cd /src && exec \"\$@\"" sh "$@"
  ' bash "$root" "$here" "$out" "$@"
}

mirror_of_this_machine() { # the first Debian archive among its own sources that is not the one for security
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | sort -u | grep -m1 '/debian/*$'
}

have_mmdebstrap() {
  command -v mmdebstrap >/dev/null && return 0
  apt-get -q update || true
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends mmdebstrap
}

# The mirror's index of sid may be past its own date; signatures are checked all the same.
apt_settings='APT::Install-Recommends "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";'
dpkg_settings='force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*'

fill() { # fill <folder> <mirror>: sid with the packages. Callers look at the status alone.
  printf '%s\n' "$apt_settings" >"$1.apt" && printf '%s\n' "$dpkg_settings" >"$1.dpkg" &&
    mmdebstrap --mode=root --variant=apt "--include=${packages[*]}" --aptopt="$1.apt" --dpkgopt="$1.dpkg" \
      sid "$1" "deb $2 sid main"
}

mend() { # mend <folder>: what these packages get wrong
  # Kokkos's CMake package insists on two archives that have become empty, and that Debian therefore leaves out.
  local folder core name
  folder=$1
  core=$(find "$folder/usr/lib" -name libkokkoscore.so | head -n 1)
  [ -n "$core" ] || return 1
  for name in kokkosalgorithms kokkossimd; do
    [ -e "$(dirname "$core")/lib$name.a" ] || printf '!<arch>\n' >"$(dirname "$core")/lib$name.a"
  done
  # Both MPIs are there; plain mpicxx and mpiexec are MPICH's.
  chroot "$folder" update-alternatives --set mpi /usr/bin/mpicc.mpich &&
    chroot "$folder" update-alternatives --set mpirun /usr/bin/mpirun.mpich
}

make_root() {
  unshare --mount true 2>/dev/null || lack "mount namespaces are needed, and this system lets only root make them, or nobody"
  [ "$(cat "$root/etc/weft.stamp" 2>/dev/null)" = "$stamp" ] && return 0
  local mirror begin=$SECONDS log=$out/root.log
  command -v apt-get >/dev/null || lack "this system has no apt-get"
  mirror=$(mirror_of_this_machine) || lack "this machine's apt sources name no Debian mirror"
  have_mmdebstrap >"$log" 2>&1 || lack "mmdebstrap is not here and cannot be installed (see $log)"
  say "making $root, a minute or two (log: $log)"
  rm -rf --one-file-system "$root" "$root.new"
  mkdir -p "$(dirname "$root")"
  local filled=yes
  fill "$root.new" "$mirror" >>"$log" 2>&1 || filled=no
  rm -f "$root.new.apt" "$root.new.dpkg"
  [ "$filled" = yes ] || {
    rm -rf --one-file-system "$root.new"
    lack "the mirror does not give Debian sid with ${#packages[@]} packages (see $log)"
  }
  mend "$root.new" >>"$log" 2>&1 || lack "Debian's Kokkos or MPI packages have changed (see $log)"
  printf '%s' "$stamp" >"$root.new/etc/weft.stamp"
  mv "$root.new" "$root"
  say "made in $((SECONDS - begin)) s, $(du -smx "$root" | cut -f1) MB"
}

add_hip() {
  [ "$(cat "$root/etc/weft.hip.stamp" 2>/dev/null)" = "$hip_stamp" ] && return 0
  local begin=$SECONDS log=$out/hip-root.log
  say "adding hipcc and hipBLAS (log: $log)"
  # Unpacked, since hipBLAS depends on rocBLAS, 281 MB to download, of which nothing is compiled.
  inside sh -c '
    set -e
    export DEBIAN_FRONTEND=noninteractive
    sed "s/ sid / experimental /" /etc/apt/sources.list >/etc/apt/sources.list.d/experimental.list
    apt-get -q -o Acquire::Check-Valid-Until=false update
    apt-get -q -y -o APT::Install-Recommends=false install $1
    rm -rf /opt/weft-hip
    mkdir -p /opt/weft-hip
    cd /opt/weft-hip
    apt-get -q -o APT::Sandbox::User= download $2
    for package in *.deb; do dpkg -x "$package" .; done
    rm ./*.deb
    apt-get clean' sh "${hip_packages[*]}" "${hip_unpacked[*]}" >"$log" 2>&1 ||
    lack "the mirror does not give hipcc and hipBLAS (see $log)"
  printf '%s' "$hip_stamp" >"$root/etc/weft.hip.stamp"
  say "added in $((SECONDS - begin)) s, $(du -smx "$root" | cut -f1) MB now"
}

make_root_alone() { # one at a time: others wait, then find it made
  mkdir -p "$out" "$(dirname "$root")"
  exec 9>"$root.lock"
  flock 9
  make_root
  [ "$with_hip" = no ] || add_hip
  exec 9>&-
}

[ "${1:-}" != --hip ] || { with_hip=yes && shift; }
case ${1:-} in
  make) make_root_alone ;;
  run)
    shift
    [ $# -gt 0 ] || { say "run what?"; exit 2; }
    make_root_alone
    inside "$@"
    ;;
  drop) rm -rf --one-file-system "$root" "$root.new" "$root.lock" ;;
  *)
    sed -n '5,25p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
