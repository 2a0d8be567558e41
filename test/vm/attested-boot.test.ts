import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { run } from '#shared/process/run.ts';
import { BootMediumLayout } from '#shared/wire/boot-medium.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNode, startLab } from '#test/lab/lab.ts';
import { enrollNode, getNode, provision, waitForState } from '#test/lab/operator.ts';

/**
 * A machine as it is sold, with a TPM and Secure Boot by Microsoft's keys, under `BATON_ATTESTATION=require`: it boots what
 * it is served, and then a ramdisk of which one byte is another.
 */

const built = join(import.meta.dirname, '../../build/ramdisk');
let lab: Lab | undefined;
let directory: string | undefined;

beforeAll(async () => {
  lab = await startLab({
    nodes: [{ firmware: 'uefi', bmc: 'redfish', boot: 'vmedia', tpm: true, secureBoot: 'microsoft' }],
    conductorSettings: { BATON_ATTESTATION: 'require' },
  });
  const { node } = running();
  await plantSystem(node.machine.diskFiles[0] ?? '');
  await enrollNode(lab, node);
  await provision(lab, node, 'manage');
  await waitForState(lab, node, 'manageable');
});
afterEach((context) => {
  if (context.task.result?.state === 'fail' && lab) process.stdout.write(`${labDiagnostics(lab, 60)}\n`);
});
afterAll(async () => {
  await lab?.close();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

/** Leaves on a disk what a boot loader that searches all disks would take for the boot medium's configuration. */
async function plantSystem(disk: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-planted-'));
  try {
    for (const name of ['baton/node.cfg', 'boot/grub/grub.cfg']) {
      await mkdir(join(folder, 'cd', dirname(name)), { recursive: true });
      await writeFile(join(folder, 'cd', name), 'echo "started from the disk"\nhalt\n');
    }
    await run('xorrisofs', ['-quiet', '-R', '-o', join(folder, 'iso'), join(folder, 'cd')]);
    await run('dd', [`if=${join(folder, 'iso')}`, `of=${disk}`, 'bs=1M', 'conv=notrunc', 'status=none']);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function running(): { readonly lab: Lab; readonly node: LabNode } {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  return { lab, node };
}
/** The least that needs the ramdisk. */
const cleaning = { clean_steps: [{ interface: 'deploy', step: 'erase_devices_metadata' }] };
const tpmOf = (name: string) => running().lab.api.call<NodeTpmAnswer>('GET', `/v1/nodes/${name}/tpm`);

test('what was served, on firmware that was not seen before, is trusted and works, whatever its disk has', async () => {
  const { lab, node } = running();
  await provision(lab, node, 'clean', cleaning);
  await waitForState(lab, node, 'manageable', 14 * 60_000);
  const { verdict, reasons, boot, tpm, accepted, other } = await tpmOf(node.name);
  expect({ verdict, reasons }).toEqual({ verdict: 'trusted', reasons: [] });
  const { measured } = await readLayout(built);
  const [shim, grub] = measured?.programs ?? [];
  expect(boot).toMatchObject({
    secure_boot: true,
    programs: [shim?.sha256, grub?.sha256, measured?.kernel, measured?.kernel],
  });
  expect(tpm.certificate).toContain('BEGIN CERTIFICATE');
  expect({ by: accepted.by, boot: accepted.boot, other }).toEqual({ by: null, boot, other: null });
});

test('an initrd of which one byte is another is refused before anything is done', async () => {
  const { lab, node } = running();
  directory = await mkdtemp(join(tmpdir(), 'baton-ramdisk-'));
  await cp(built, directory, { recursive: true });
  await changeOneByte(join(directory, 'initrd.img'));
  await lab.conductor.restart({ BATON_RAMDISK_DIR: directory });

  await provision(lab, node, 'clean', cleaning);
  await waitForState(lab, node, 'clean failed', 14 * 60_000);
  const refused = 'initrd.img of the boot medium is not what was served (PCR 9)';
  expect((await tpmOf(node.name)).reasons).toEqual([refused]);
  expect((await getNode(lab, node)).last_error).toContain(refused);
});

async function readLayout(folder: string): Promise<BootMediumLayout> {
  return BootMediumLayout.parse(JSON.parse(await readFile(join(folder, 'boot-medium.json'), 'utf8')));
}

/** In the archive with the agent, the initrd's last, whose place has the same size afterwards. */
async function changeOneByte(initrd: string): Promise<void> {
  const bytes = await readFile(initrd);
  const start = bytes.lastIndexOf(zstdMagic);
  const files = zstdDecompressSync(bytes.subarray(start));
  // of a script's comment; where one makes the archive longer, the next
  for (let at = files.indexOf('\n# '); at !== -1; at = files.indexOf('\n# ', at + 1)) {
    const other = Buffer.from(files);
    other.write('#', at + 2);
    const archive = zstdCompressSync(other, { params: { [constants.ZSTD_c_compressionLevel]: 22 } });
    if (archive.length > bytes.length - start) continue;
    // the kernel skips zeros
    await writeFile(initrd, Buffer.concat([bytes.subarray(0, start), archive], bytes.length));
    return;
  }
  throw new Error('no byte of the initrd could be changed');
}

const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
