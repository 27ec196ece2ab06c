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
# Needs root, mmdebstrap or debootstrap (or an apt-get that can install one), and a Debian mirror among the machine's apt
# sources, whose packages are checked by signature as always.
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
  doctest-dev libbenchmark-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libxxhash-dev)
# Another stamp is another root: count up when what is done below to the packages changes.
stamp="1 ${packages[*]}"

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

find_maker() { # prints the tool that unpacks a Debian, installing one if need be
  local tool
  for tool in mmdebstrap debootstrap; do
    command -v "$tool" && return 0
  done
  apt-get -q update >&2 || true
  for tool in mmdebstrap debootstrap; do
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends "$tool" >&2 &&
      command -v "$tool" && return 0
  done
  return 1
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

fill() { # fill <folder> <tool> <mirror>: sid with the packages. One step at a time: callers look at the status alone.
  local folder=$1 tool=$2 mirror=$3
  case $tool in
    */mmdebstrap)
      printf '%s\n' "$apt_settings" >"$folder.apt" && printf '%s\n' "$dpkg_settings" >"$folder.dpkg" &&
        mmdebstrap --mode=root --variant=apt "--include=${packages[*]}" --aptopt="$folder.apt" --dpkgopt="$folder.dpkg" \
          sid "$folder" "deb $mirror sid main"
      ;;
    *)
      # No service starts in there.
      debootstrap --variant=minbase sid "$folder" "$mirror" &&
        printf '%s\n' "$apt_settings" >"$folder/etc/apt/apt.conf.d/99weft" &&
        printf '%s\n' "$dpkg_settings" >"$folder/etc/dpkg/dpkg.cfg.d/weft" &&
        printf 'deb %s sid main\n' "$mirror" >"$folder/etc/apt/sources.list" &&
        printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d" && chmod +x "$folder/usr/sbin/policy-rc.d" &&
        chroot "$folder" apt-get -q update &&
        DEBIAN_FRONTEND=noninteractive chroot "$folder" apt-get -q -y install "${packages[@]}" &&
        chroot "$folder" apt-get clean
      ;;
  esac
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
  [ "$(cat "$root/etc/weft.stamp" 2>/dev/null)" = "$stamp" ] && return 0
  local tool mirror begin=$SECONDS log=$out/root.log
  [ "$(id -u)" -eq 0 ] || lack "only root may make a root; run this as root"
  command -v apt-get >/dev/null || lack "this system has no apt-get"
  mirror=$(mirror_of_this_machine) || lack "this machine's apt sources name no Debian mirror"
  tool=$(find_maker 2>"$log") || lack "neither mmdebstrap nor debootstrap is here or can be installed (see $log)"
  say "making $root, a minute or two (log: $log)"
  rm -rf --one-file-system "$root" "$root.new"
  mkdir -p "$(dirname "$root")"
  local filled=yes
  fill "$root.new" "$tool" "$mirror" >>"$log" 2>&1 || filled=no
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

make_root_alone() { # one at a time: others wait, then find it made
  mkdir -p "$out" "$(dirname "$root")"
  exec 9>"$root.lock"
  flock 9
  make_root
  exec 9>&-
}

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
    sed -n '5,22p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
