import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeFlowChanges } from '#conductor/cli/describe-flow-changes.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import { bootWithoutDisk, putDisksBack } from '#test/lab/boot-without-disk.ts';
import { type DeployReport, deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import type { BeaconAnswer } from '#test/lab/proofs/beacon.ts';

/** Deploys onto software RAID 1 over two disks, and boots that with either disk pulled. */
const disks = [
  { bus: 'virtio', gib: 6 },
  { bus: 'virtio', gib: 6 },
] as const;
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', disks },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi', disks },
];
const raid = {
  logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software', is_root_volume: true }],
};
const deploySteps = [
  { interface: 'raid', step: 'apply_configuration', priority: 90, args: { raid_config: raid } },
] as const;
const bootLimitMs = 8 * 60_000;

interface NodeOutcome {
  readonly report: DeployReport;
  /** The beacons of the boots with the first and the second disk pulled. */
  readonly degraded: readonly BeaconAnswer[];
}

let lab: Lab | undefined;
let outcomes: ReadonlyMap<string, PromiseSettledResult<NodeOutcome>> = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: machines, report: say });
  const running = lab;
  const settled = await Promise.allSettled(
    running.nodes.map(async (node): Promise<NodeOutcome> => {
      let seen: FlowView | undefined;
      const onFlow = (flow: FlowView): void => {
        for (const line of describeFlowChanges(seen, flow, new Date())) say(`${node.name}: ${line}`);
        seen = flow;
      };
      const report = await deployAndProve(running, node, image, { onFlow, report: say, deploySteps });
      const degraded: BeaconAnswer[] = [];
      for (const pulled of [0, 1]) {
        const before = degraded.at(-1) ?? report.beacon;
        degraded.push(await bootWithoutDisk(running, node, pulled, { before, timeoutMs: bootLimitMs }));
        say(`${node.name}: boots with disk ${pulled} pulled`);
      }
      await putDisksBack(node);
      return { report, degraded };
    }),
  );
  outcomes = new Map(
    running.nodes.map((node, index) => [node.name, settled[index] as PromiseSettledResult<NodeOutcome>]),
  );
  if (settled.some(({ status }) => status === 'rejected')) say(labDiagnostics(running, 60));
});

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name }) => {
  test('the deploy makes the array and writes to it', () => {
    const { flow, proofs } = outcome(name).report;
    expect(flow.steps.map(({ step, state }) => `${step} ${state}`)).toContain('apply_configuration succeeded');
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(5);
  });

  test('the node knows its RAID, and its root device by the UUID of the array', async () => {
    const node = await lab?.api.call<{
      raid_config: { logical_disks: readonly Record<string, unknown>[] };
      properties: { root_device: unknown };
    }>('GET', `/v1/nodes/${name}`);
    expect(node?.raid_config.logical_disks).toMatchObject([{ ...raid.logical_disks[0], volume_name: 'md0' }]);
    expect(node?.properties.root_device).toEqual({ wwn: expect.stringMatching(/^[0-9a-f]{8}(:[0-9a-f]{8}){3}$/) });
  });

  test('the system boots with either disk pulled', () => {
    const { report, degraded } = outcome(name);
    expect(degraded.map(({ hostname }) => hostname)).toEqual([report.beacon.hostname, report.beacon.hostname]);
    expect(new Set([report.beacon, ...degraded].map(({ bootId }) => bootId)).size).toBe(3);
  });
});

function outcome(name: string): NodeOutcome {
  const settled = outcomes.get(name);
  if (settled?.status !== 'fulfilled') throw settled?.reason ?? new Error(`${name} was not deployed`);
  return settled.value;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
