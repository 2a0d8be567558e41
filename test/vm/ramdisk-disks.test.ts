import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** The ramdisk on other disks than virtio's, in the memory that it must be content with. */
const machines: readonly (LabNodeOptions & { readonly name: string; readonly disk: string })[] = [
  {
    name: 'node0',
    firmware: 'uefi',
    bmc: 'redfish',
    memoryMib: 768,
    disks: [{ bus: 'nvme', gib: 2 }],
    disk: 'nvme0n1 2G',
  },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi', memoryMib: 768, disks: [{ bus: 'sata', gib: 2 }], disk: 'sda 2G' },
];
const bootLimitMs = 14 * 60_000;

let lab: Lab | undefined;

beforeAll(async () => {
  // unknown machines get the ramdisk, so that nothing has to be enrolled
  lab = await startLab({ nodes: machines, conductorSettings: { BATON_DISCOVERY: 'true' } });
  for (const { name, machine } of lab.nodes) {
    await lab.network.vsctl('clear', 'Port', name, 'trunks');
    await lab.network.vsctl('set', 'Port', name, 'vlan_mode=access', `tag=${labAddresses.provisioning.vlan}`);
    await machine.setBoot({ device: 'pxe', once: true, mode: machine.firmware });
    await machine.setPower('on');
  }
});
afterAll(() => lab?.close());

test.each(machines)('$firmware, $memoryMib MiB: finds $disk and looks itself up', async ({ name, disk }) => {
  const running = lab as Lab;
  const machine = running.nodes.find((node) => node.name === name)?.machine;
  const console = (): string => readFileSync(machine?.serialLog ?? '', 'latin1');
  try {
    await waitUntil(`the agent on ${name}`, () => /baton-agent: looking up/.test(console()) || undefined, {
      timeoutMs: bootLimitMs,
    });
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running)}\n`);
    throw error;
  }
  expect(console()).toContain(`baton: disks: ${disk}`);
});
