import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import type { AgentContext } from '#agent/context.ts';
import type { ImagePolicy } from '#agent/image-means/image-policy.ts';
import { digestHead, type WrittenImage } from '#agent/image-means/written-image.ts';
import { writeImageStep } from '#agent/steps/write-image.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { createLog, silentLog } from '#shared/log.ts';
import { argsInfo, parseStepArgs } from '#shared/steps/define-step.ts';

const sha256 = 'a'.repeat(64);
// nothing listens on this port
const info = { id: 'disk.raw', urls: ['http://127.0.0.1:1/disk.raw'], disk_format: 'raw', checksum: sha256 };
const folder = await mkdtemp(join(tmpdir(), 'baton-write-step-'));
const device = join(folder, 'vda');
await writeFile(device, Buffer.alloc(2 * 1024 * 1024, 'image'));
const written: WrittenImage = {
  imageId: 'disk.raw',
  checksum: sha256,
  device,
  rootUuid: '0x12345678',
  headSha256: await digestHead(device),
};
const disk = { name: 'vda', path: device, type: 'disk', size: 10 * 1024 ** 3 };
afterAll(() => rm(folder, { recursive: true }));

async function runStep(
  args: Record<string, unknown>,
  last?: WrittenImage,
  lsblk: object = disk,
  imagePolicy: ImagePolicy = {},
  { log = silentLog, properties = {} } = {},
) {
  const commands: string[] = [];
  const context: AgentContext = {
    run: async (command) => {
      commands.push(command);
      if (command === 'lsblk')
        return { stdout: JSON.stringify({ blockdevices: [lsblk] }), stderr: '', exitCode: 0, durationMs: 1 };
      if (command === 'udevadm') return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
      throw new AppError('command_failed', `${command} is not there`);
    },
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    log,
    signal: new AbortController().signal,
    node: { uuid: 'n', properties, instance_info: {}, driver_internal_info: {} },
    reportProgress: () => undefined,
    imagePolicy,
    writtenImage: { current: last },
  };
  const outcome = await writeImageStep
    .run(context, parseStepArgs(writeImageStep, args))
    .catch((error: unknown) => error);
  return { outcome, commands, context };
}

test('its arguments, as they are advertised', () => {
  const advertised = argsInfo(writeImageStep.args);
  expect(advertised?.['image_info']?.required).toBe(true);
  expect(advertised?.['configdrive']?.required).toBe(false);
});

test('the same image is not written twice in one boot', async () => {
  const { outcome, commands } = await runStep({ image_info: info, configdrive: null }, written);
  expect(outcome).toEqual({
    kind: 'done',
    output: `image (disk.raw) already present on device ${device} root_uuid=0x12345678`,
  });
  expect(commands).not.toContain('wipefs');
});

test('an entry of the skip list that names nothing is told before a disk is chosen', async () => {
  const reported: string[] = [];
  const log = createLog({ component: 'test', only: { write: (line) => void reported.push(line) } });
  const properties = { skip_block_devices: [{ name: '/dev/sdq' }, { serial: 'KEEP' }] };
  const kept = { ...disk, serial: 'KEEP' };
  const { outcome, commands } = await runStep({ image_info: info }, undefined, kept, {}, { log, properties });
  expect(reported).toEqual([expect.stringContaining('{\\"name\\":\\"/dev/sdq\\"} names no disk of this machine')]);
  expect(outcome).toMatchObject({ message: expect.stringContaining('it is on the skip list') });
  expect(commands).not.toContain('wipefs');
});

test('of an image in chunks it says where the bytes came from', async () => {
  const last = { ...written, origin: { kept: 3, copied: 2, fetched: 1, neighbours: 0 } };
  const { outcome } = await runStep({ image_info: info, configdrive: null }, last);
  expect(outcome).toMatchObject({
    output: expect.stringMatching(/ kept_bytes=3 copied_bytes=2 fetched_bytes=1 neighbour_bytes=0$/),
  });
});

test('a format that the conductor does not permit is refused before anything is looked at', async () => {
  const { outcome, commands } = await runStep({ image_info: { ...info, disk_format: 'qcow2' } }, undefined, disk, {
    permittedFormats: ['raw'],
  });
  expect(outcome).toMatchObject({ code: 'image_error', message: expect.stringContaining('permits raw') });
  expect(commands).toEqual([]);
});

test('nor is it taken for present when the disk has changed since', async () => {
  const { outcome, context } = await runStep({ image_info: info }, { ...written, headSha256: 'c'.repeat(64) });
  expect(outcome).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/gave up after 10 tries/) });
  expect(context.writtenImage.current).toBeUndefined();
});

test('another image under the same id is written, and the old one no longer remembered', async () => {
  const { outcome, context } = await runStep({ image_info: info }, { ...written, checksum: 'b'.repeat(64) });
  expect(outcome).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/gave up after 10 tries/) });
  expect(context.writtenImage.current).toBeUndefined();
});

describe('refused before any disk is looked at', () => {
  test.each([
    ['VMDK', { image_info: { ...info, disk_format: 'vmdk' } }, /disk_format is "vmdk"/],
    [
      'a login in the address',
      { image_info: { ...info, urls: ['http://u:p@127.0.0.1:1/disk.raw'] } },
      /^image_info.urls\[0\] has a login in it/,
    ],
    [
      'a login in the address of the config drive',
      { image_info: info, configdrive: 'http://u:p@127.0.0.1:1/drive' },
      /^configdrive has a login in it/,
    ],
    ['no checksum', { image_info: { ...info, checksum: null } }, /has no checksum/],
    ['a config drive that is none', { image_info: info, configdrive: 'aGVsbG8=' }, /neither an ISO 9660 nor a FAT/],
  ])('%s', async (_name, args, text) => {
    const { outcome, commands } = await runStep(args);
    expect(outcome).toMatchObject({ name: 'AppError', message: expect.stringMatching(text) });
    expect(commands).toEqual([]);
  });
});

test('a config drive that could not be mounted from the disk stops it before anything is wiped', async () => {
  const iso = Buffer.alloc(40_960);
  iso.write('CD001', 0x8001, 'latin1');
  const configdrive = gzipSync(iso).toString('base64');
  const { outcome, commands } = await runStep({ image_info: info, configdrive }, undefined, {
    ...disk,
    'log-sec': 4096,
  });
  expect(outcome).toMatchObject({ code: 'not_supported', message: expect.stringMatching(/with sectors of 4096/) });
  expect(commands).not.toContain('wipefs');
});
