import type { MountOptions } from '#agent/storage/mount.ts';

/** Nothing on a foreign file system can act on this machine: no device nodes, no programs, no set-user-id. */
export function mountHarmless(access: 'ro' | 'rw'): MountOptions {
  return { options: [access, 'nodev', 'nosuid', 'noexec'] };
}
