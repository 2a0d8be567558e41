import { type BiosChange, biosChangeFor } from '#test/lab/bios-change.ts';
import { bootWithoutDisk, putDisksBack, shutDown } from '#test/lab/boot-without-disk.ts';
import { type DeployHooks, type DeployReport, deployAndProve } from '#test/lab/deploy-and-prove.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import type { DemoImage, RequestedDeployStep } from '#test/lab/operator.ts';
import type { BeaconAnswer } from '#test/lab/proofs/beacon.ts';
import { lookAtRaid1 } from '#test/lab/proofs/look-at-raid1.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';

/**
 * `npm run lab -- --raid1`: software RAID 1 over two disks, a change of BIOS settings and a step of one's own in one
 * deploy, then each disk pulled in turn. The ramdisk must have `agent/custom/example`.
 */
export const raid1Disks = [
  // no larger than the image needs: the array is resynchronised while it is deployed and while it boots
  { bus: 'virtio', gib: 3 },
  { bus: 'virtio', gib: 3 },
] as const;

export const customSteps = 'agent/custom/example';

const motd = 'Deployed onto RAID 1 by Baton.';
const bootLimitMs = 15 * 60_000;

const raidStep: RequestedDeployStep = {
  interface: 'raid',
  step: 'apply_configuration',
  priority: 90,
  args: {
    raid_config: {
      logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software', is_root_volume: true }],
    },
  },
};
const motdStep: RequestedDeployStep = { interface: 'deploy', step: 'write_motd', priority: 70, args: { text: motd } };

export interface Raid1Hooks extends Omit<DeployHooks, 'deploySteps' | 'lookAtDisks'> {
  /** Default the one that suits the machine. */
  readonly biosChanges?: readonly BiosChange[];
  /** Which disks are pulled, by their place; default each in turn. */
  readonly pulled?: readonly number[];
}

/**
 * Deploys as `deployAndProve` does; the proofs of the boots without a disk among the others. Leaves the machine off,
 * with both disks.
 */
export async function deployOntoRaid1(
  lab: Lab,
  node: LabNode,
  image: DemoImage,
  { biosChanges = biosChangesFor(lab, node), pulled = raid1Disks.map((_, index) => index), ...hooks }: Raid1Hooks = {},
): Promise<DeployReport> {
  const report = hooks.report ?? (() => undefined);
  if (biosChanges.length === 0)
    report(`${node.name}: no BIOS change: its BMC speaks IPMI, its firmware is not UEFI, so nobody has settings`);
  const deployed = await deployAndProve(lab, node, image, {
    ...hooks,
    deploySteps: [...biosChanges.map(({ step }) => step), raidStep, motdStep],
    lookAtDisks: () => lookAtRaid1({ rawImage: image.rawFile, diskFiles: node.machine.diskFiles, motd }),
  });
  const proofs = [...deployed.proofs];
  for (const change of biosChanges) proofs.push(await change.prove());
  let before = deployed.beacon;
  report(`${node.name}: shutting down`);
  await shutDown(lab, node);
  for (const index of pulled) {
    report(`${node.name}: disk ${index} pulled, powered on`);
    const beacon = await bootWithoutDisk(lab, node, index, { before, timeoutMs: bootLimitMs });
    proofs.push(proveBoot(index, before, beacon));
    before = beacon;
  }
  await putDisksBack(node);
  return { ...deployed, proofs };
}

function biosChangesFor(lab: Lab, node: LabNode): readonly BiosChange[] {
  const change = biosChangeFor(lab, node);
  return change ? [change] : [];
}

/** The same instance, in a boot of its own. */
function proveBoot(pulled: number, before: BeaconAnswer, beacon: BeaconAnswer): Proof {
  return {
    what: `its system boots with disk ${pulled} pulled`,
    holds: beacon.bootId !== before.bootId && beacon.instanceUuid === before.instanceUuid,
    seen: `${beacon.hostname} at ${beacon.address}, boot ${beacon.bootId}`,
  };
}
