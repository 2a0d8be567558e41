import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCustomRamdisk } from '#test/lab/custom-ramdisk.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { customSteps, deployOntoRaid1, raid1Disks } from '#test/lab/deploy-onto-raid1.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** Deploys onto software RAID 1 over two disks as `npm run lab -- --raid1` does, and boots that with either disk pulled. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', disks: raid1Disks },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi', disks: raid1Disks },
];

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  const ramdiskDirectory = await buildCustomRamdisk('ramdisk-raid1', [customSteps], say);
  lab = await startLab({ nodes: machines, report: say, ramdiskDirectory });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployOntoRaid1(running, node, image, reporting), say);
  // four systems boot one after the other on each machine
});

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name, bmc }) => {
  const biosSteps = bmc === 'redfish' ? ['110 apply_configuration succeeded'] : [];

  test('each step in its turn: BIOS settings where there are any, the array, the custom step', () => {
    const { flow } = reportOf(outcomes, name);
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
    const { proofs } = reportOf(outcomes, name);
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
