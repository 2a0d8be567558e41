import type { BootSource } from '#test/lab/qemu-arguments.ts';
import { type DiskLook, lookAtDisk } from '#test/lab/redeploy/look-at-disk.ts';
import type { VirtualMachine } from '#test/lab/virtual-machine.ts';

/** All disks of a machine that is off, right before it is powered on. */
export interface DisksLook {
  readonly at: number;
  /** Where it is about to boot from. */
  readonly boots: BootSource;
  readonly disks: readonly DiskLook[];
}

export interface DiskWatch {
  readonly looks: readonly DisksLook[];
  /** Nothing is looked at any more. @throws what a look has thrown */
  end(): void;
}

/** Looks for `words` at each power-on from now on, which the launcher holds back for that second or two. */
export function watchDisks(machine: VirtualMachine, words: readonly string[]): DiskWatch {
  const looks: DisksLook[] = [];
  const state: { isOver: boolean; failure: unknown } = { isOver: false, failure: undefined };
  machine.onPowerOn(async (order) => {
    if (state.isOver) return;
    const at = Date.now();
    try {
      const disks = await Promise.all(machine.diskFiles.map((file) => lookAtDisk(file, words)));
      looks.push({ at, boots: order[0] ?? 'disk', disks });
    } catch (error) {
      state.failure = error;
    }
  });
  return {
    looks,
    end: () => {
      state.isOver = true;
      if (state.failure !== undefined) throw state.failure as Error;
    },
  };
}
