import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNode, startLab } from '#test/lab/lab.ts';
import { enrollNode, getFlow, provision, waitForState } from '#test/lab/operator.ts';
import { storedEfiVariable } from '#test/lab/proofs/stored-efi-variable.ts';

/**
 * BIOS settings from the ramdisk on real firmware: a machine behind IPMI, whose BMC has no BIOS settings, is cleaned by
 * hand twice. What the first cleaning sets is looked for in the firmware's flash, and by the second one's boot.
 */
const cleanLimitMs = 15 * 60_000;

let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({ nodes: [{ firmware: 'uefi', bmc: 'ipmi', memoryMib: 1024 }] });
  const { node } = rig();
  await enrollNode(rig().lab, node);
  await provision(rig().lab, node, 'manage');
  await waitForState(rig().lab, node, 'manageable');
});
afterAll(() => lab?.close());

function rig(): { readonly lab: Lab; readonly node: LabNode } {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new AppError('internal', 'the lab is not up');
  return { lab, node };
}

/** Cleans with this one step; answers the step as it ended. */
async function apply(settings: readonly { readonly name: string; readonly value: unknown }[]) {
  const { lab: running, node } = rig();
  await provision(running, node, 'clean', {
    clean_steps: [{ interface: 'bios', step: 'apply_configuration', args: { settings } }],
  });
  try {
    await waitForState(running, node, 'manageable', cleanLimitMs);
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running, 60)}\n`);
    throw error;
  }
  const flow: FlowView | undefined = await getFlow(running, node);
  return flow?.steps.find((step) => step.step === 'apply_configuration');
}

async function shown(): Promise<Record<string, unknown>> {
  const { lab: running, node } = rig();
  const answer = await running.api.call<{ bios: { name: string; value: unknown }[] }>(
    'GET',
    `/v1/nodes/${node.name}/bios`,
  );
  return Object.fromEntries(answer.bios.map(({ name, value }) => [name, value]));
}

const stored = (name: string) => {
  const { lab: running, node } = rig();
  return storedEfiVariable(join(running.directory.path, `${node.name}-variables.fd`), name);
};

/** A signature list that allows one SHA-256 hash (EFI_CERT_SHA256_GUID). */
function hashList(): Buffer {
  const list = Buffer.alloc(28 + 48);
  Buffer.from('2616c4c14c509240aca941f936934328', 'hex').copy(list);
  list.writeUInt32LE(list.length, 16);
  list.writeUInt32LE(48, 24);
  list.fill(0x5a, 44);
  return list;
}

test('settings reach the flash and outlive the power cut', { timeout: 2 * cleanLimitMs + 60_000 }, async () => {
  const first = await apply([
    { name: 'efi.boot_timeout', value: 7 },
    { name: 'efi.secure_boot_db', value: hashList().toString('base64') },
  ]);
  expect(first).toMatchObject({ state: 'succeeded', in_band: true });
  expect(stored('Timeout')?.readUInt16LE()).toBe(7);
  // the firmware keeps the list without the descriptor that it came in
  expect(stored('db')).toEqual(hashList());
  const before = await shown();
  expect(before).toMatchObject({ 'efi.boot_timeout': '7', 'efi.setup_mode': 'true', 'efi.secure_boot': 'false' });

  // another boot, whose step leaves those alone and tells what it found
  const second = await apply([{ name: 'efi.boot_next', value: '0000' }]);
  expect(second).toMatchObject({ state: 'succeeded' });
  expect(stored('BootNext')?.readUInt16LE()).toBe(0);
  const after = await shown();
  expect(after).toMatchObject({ 'efi.secure_boot_db': before['efi.secure_boot_db'], 'efi.boot_next': '0000' });
  // OVMF sets its timeout from QEMU's -boot menu= at every boot; other firmware keeps it
  expect(after['efi.boot_timeout']).toBe('0');
});
