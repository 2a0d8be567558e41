import type { Lab, LabNode } from '#test/lab/lab.ts';
import { type BeaconAnswer, waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { allDisks } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/**
 * Has a deployed machine shut itself down. A system that has just booted for the first time has much of what it wrote
 * only in memory: without power it finds empty files at its next boot, whatever its disks are.
 * @throws AppError `timeout`
 */
export async function shutDown({ closing }: Lab, { name, machine }: LabNode): Promise<void> {
  await waitUntil(
    `${name} to shut down`,
    async () => {
      if (machine.getPower() === 'off') return true;
      // again and again: nobody listens to the button before logind runs
      await machine.setPower('graceful');
      return undefined;
    },
    { timeoutMs: shutDownLimitMs, everyMs: 3000, signal: closing },
  );
}

const shutDownLimitMs = 4 * 60_000;

/**
 * Pulls the plug of a deployed machine, takes one of its disks out, and boots it from what is left; the conductor has no
 * part in it. What this boot writes is forgotten, so that the other disks stay as they were.
 * @param pulled the disk's place, from 0
 * @returns the beacon of the new boot; the machine runs on without the disk.
 * @throws AppError `timeout` when it doesn't boot.
 */
export async function bootWithoutDisk(
  lab: Lab,
  node: LabNode,
  pulled: number,
  { before, timeoutMs }: { readonly before: BeaconAnswer; readonly timeoutMs: number },
): Promise<BeaconAnswer> {
  const { machine } = node;
  await machine.setPower('off');
  machine.setDisks({ pulled: [pulled], discardWrites: true });
  await machine.setBoot({ device: 'disk', once: false, mode: machine.firmware });
  await machine.setPower('on');
  return waitForBeacon(lab, node, timeoutMs, before.bootId);
}

/** Puts all disks back, and leaves the machine off. */
export async function putDisksBack(node: LabNode): Promise<void> {
  await node.machine.setPower('off');
  node.machine.setDisks(allDisks);
}
