import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bootRamdisk } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { nodeHistory, nodes } from '#conductor/kernel/db/schema/node.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

interface Machine {
  /** Secure Boot as its BMC was read last. */
  readonly read?: boolean;
  /** And as it shows it now. */
  readonly shown?: boolean;
  /** Directory of iPXE, where Baton serves DHCP. */
  readonly tftpDirectory?: string;
  readonly attestation?: string;
}

/** Up to where the machine would be switched off for it. */
async function boot(
  driverInfo: Readonly<Record<string, string>>,
  { read = false, shown = read, tftpDirectory, attestation = 'off' }: Machine = {},
): Promise<unknown> {
  const node = { ...availableNode(crypto.randomUUID()), driver: 'redfish', driverInfo, secureBoot: read };
  await db.insert(nodes).values(node);
  return bootRamdisk.run({
    db,
    node: { ...node, interfaces: {}, networkData: {} },
    flow: { kind: 'clean', actionId: null },
    step: { output: null },
    config: {
      nodeRamdisks: true,
      fastTrack: false,
      conductorName: 'c1',
      dhcp: tftpDirectory === undefined ? undefined : { tftpDirectory },
      attestation,
      boot: { url: 'http://192.0.2.1', insecureAgents: false },
      publicUrl: 'http://192.0.2.1',
      kernelParams: '',
    },
    signal: AbortSignal.timeout(60_000),
    secrets: testSecrets,
    record: (write: (tx: Transaction) => Promise<unknown>) => db.transaction(write),
    bmc: () => ({
      firmwareBoot: { read: () => Promise.resolve({ bootMode: 'uefi', secureBoot: shown }) },
      get power() {
        throw new Error('switched');
      },
    }),
  } as unknown as StepContext);
}

const events = () => db.select({ event: nodeHistory.event }).from(nodeHistory);

test("a node whose own ramdisk can't be booted is not cleaned by Baton's", async () => {
  const url = 'http://192.0.2.1/ipa.kernel';
  await expect(boot({ deploy_kernel: url })).rejects.toThrow('needs deploy_kernel and deploy_ramdisk, or neither');
  await expect(boot({ deploy_kernel: url, deploy_ramdisk: 'file:///ipa' })).rejects.toThrow('deploy_ramdisk must be');
  await expect(boot({ deploy_kernel: url, deploy_ramdisk: url })).rejects.toThrow('switched');
  await expect(boot({})).rejects.toThrow('switched');
  expect(await events()).toEqual([]);
});

test("the node's history says that Baton's is booted in place of images of Glance", async () => {
  const image = crypto.randomUUID();
  await expect(boot({ deploy_kernel: image, deploy_ramdisk: image })).rejects.toThrow('switched');
  expect(await events()).toEqual([{ event: expect.stringContaining("Baton's own ramdisk is booted: driver_info") }]);
});

test('a boot that the firmware refuses fails before the machine is switched', async () => {
  const tftpDirectory = await mkdtemp(join(tmpdir(), 'baton-ipxe-'));
  try {
    await expect(boot({}, { read: true, tftpDirectory }), 'no iPXE is known').rejects.toThrow('switched');
    await writeFile(join(tftpDirectory, 'snponly.efi'), unsignedProgram());
    const refused = {
      situation: 'boot_refused',
      message: expect.stringMatching(/^Secure Boot is on, and iPXE is not/),
    };
    await expect(boot({}, { read: true, tftpDirectory })).rejects.toMatchObject(refused);
    await expect(boot({}, { read: true, shown: false, tftpDirectory }), 'since switched off').rejects.toThrow(
      'switched',
    );
    await expect(boot({}, { tftpDirectory }), 'it is off').rejects.toThrow('switched');
    await expect(boot({}, { read: true }), 'another server serves another').rejects.toThrow('switched');
  } finally {
    await rm(tftpDirectory, { recursive: true });
  }
});

function unsignedProgram(): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write('PE\0\0', 0x80, 'latin1');
  bytes.writeUInt16LE(0x20b, 0x80 + 24);
  return bytes;
}

test('a boot that nobody could trust is refused before the machine is switched off', async () => {
  await expect(boot({}, { attestation: 'require' })).rejects.toThrow(
    'the boot is not trusted (unknown): the ramdisk is loaded by iPXE, which does not measure it',
  );
  await expect(boot({}, { attestation: 'record' })).rejects.toThrow('switched');
  await expect(
    boot({ attestation: 'record' }, { attestation: 'require' }),
    "by the node's own setting",
  ).rejects.toThrow('switched');
});
