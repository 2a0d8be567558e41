import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeFlowChanges } from '#conductor/cli/describe-flow-changes.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import { buildCustomRamdisk } from '#test/lab/custom-ramdisk.ts';
import type { DeployReport } from '#test/lab/deploy-and-prove.ts';
import { customSteps, deployOntoRaid1, raid1Disks } from '#test/lab/deploy-onto-raid1.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';

/** Deploys onto software RAID 1 over two disks as `npm run lab -- --raid1` does, and boots that with either disk pulled. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', disks: raid1Disks },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi', disks: raid1Disks },
];

let lab: Lab | undefined;
let outcomes: ReadonlyMap<string, PromiseSettledResult<DeployReport>> = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  const ramdiskDirectory = await buildCustomRamdisk('ramdisk-raid1', [customSteps], say);
  lab = await startLab({ nodes: machines, report: say, ramdiskDirectory });
  const running = lab;
  const settled = await Promise.allSettled(
    running.nodes.map((node) => {
      let seen: FlowView | undefined;
      const onFlow = (flow: FlowView): void => {
        for (const line of describeFlowChanges(seen, flow, new Date())) say(`${node.name}: ${line}`);
        seen = flow;
      };
      return deployOntoRaid1(running, node, image, { onFlow, report: say });
    }),
  );
  outcomes = new Map(
    running.nodes.map((node, index) => [node.name, settled[index] as PromiseSettledResult<DeployReport>]),
  );
  if (settled.some(({ status }) => status === 'rejected')) say(labDiagnostics(running, 60));
  // four systems boot one after the other on each machine
}, 30 * 60_000);

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name, bmc }) => {
  const biosSteps = bmc === 'redfish' ? ['110 apply_configuration succeeded'] : [];

  test('each step in its turn: BIOS settings where there are any, the array, the custom step', () => {
    const { flow } = report(name);
    expect(flow.steps.map(({ step, priority, state }) => `${priority} ${step} ${state}`)).toEqual([
      ...biosSteps,
      '100 deploy succeeded',
      '90 apply_configuration succeeded',
      '80 write_image succeeded',
      '70 write_motd succeeded',
      '60 prepare_instance_boot succeeded',
      '40 tear_down_agent succeeded',
      '30 switch_to_tenant_network succeeded',
      '20 boot_instance succeeded',
    ]);
  });

  test('every proof holds: both disks, identity, network, BIOS settings, boots with either disk pulled', () => {
    const { proofs } = report(name);
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(10 + biosSteps.length);
  });

  test('the node knows its RAID, and its root device by the UUID of the array', async () => {
    const node = await lab?.api.call<{
      raid_config: { logical_disks: readonly Record<string, unknown>[] };
      properties: { root_device: unknown };
    }>('GET', `/v1/nodes/${name}`);
    expect(node?.raid_config.logical_disks).toMatchObject([
      { size_gb: 'MAX', raid_level: '1', controller: 'software', is_root_volume: true, volume_name: 'md0' },
    ]);
    expect(node?.properties.root_device).toEqual({ wwn: expect.stringMatching(/^[0-9a-f]{8}(:[0-9a-f]{8}){3}$/) });
  });
});

function report(name: string): DeployReport {
  const settled = outcomes.get(name);
  if (settled?.status !== 'fulfilled') throw settled?.reason ?? new Error(`${name} was not deployed`);
  return settled.value;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
