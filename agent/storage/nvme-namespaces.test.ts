import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addNvmeNamespaces } from '#agent/storage/nvme-namespaces.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

let sys = '';
beforeEach(async () => {
  sys = await mkdtemp(join(tmpdir(), 'baton-nvme-'));
});
afterEach(() => rm(sys, { recursive: true }));

/** A file of the kernel's. */
async function put(path: string, text: string): Promise<void> {
  const file = join(sys, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, `${text}\n`);
}

const putController = async (name: string, subsystem: string): Promise<void> => {
  await put(`class/nvme/${name}/subsysnqn`, subsystem);
  await put(`class/nvme/${name}/serial`, `serial of ${subsystem}`);
  await put(`class/nvme/${name}/model`, 'Fast');
};
const putNamespace = async (name: string, subsystem: string, nsid: number): Promise<void> => {
  await put(`class/block/${name}/device/subsysnqn`, subsystem);
  await put(`class/block/${name}/nsid`, String(nsid));
};

function list(names: readonly string[], lists: Readonly<Record<string, readonly number[]>>, oacs = 0b1010) {
  const commands: string[] = [];
  const run: Run = (command, args) => {
    commands.push([command, ...args].join(' '));
    if (args[0] === 'id-ctrl') return Promise.resolve(ranWell(JSON.stringify({ oacs })));
    const nsids = lists[args[1] ?? ''];
    if (!nsids) return Promise.reject(new AppError('command_failed', 'NVMe status: Invalid Field'));
    return Promise.resolve(ranWell(JSON.stringify({ nsid_list: nsids.map((nsid) => ({ nsid })) })));
  };
  const devices = names.map((name) => testDevice({ name }));
  const roots = { sys, dev: '/dev' };
  return { devices: addNvmeNamespaces(run, devices, roots), commands };
}

test('two controllers of one subsystem are one, whatever their namespaces are called', async () => {
  await putController('nvme0', 'nqn.a');
  await putController('nvme1', 'nqn.a');
  await putNamespace('nvme0n1', 'nqn.a', 1);
  await putNamespace('nvme1n1', 'nqn.a', 2);
  const { devices } = list(['/dev/nvme0n1', '/dev/nvme1n1', '/dev/sda'], {
    '/dev/nvme0': [1, 2],
    '/dev/nvme1': [1, 2],
  });
  expect(await devices).toMatchObject([
    { name: '/dev/nvme0n1', nvmeSubsystem: 'nqn.a' },
    { name: '/dev/nvme1n1', nvmeSubsystem: 'nqn.a' },
    { name: '/dev/sda' },
  ]);
  expect(await devices).toHaveLength(3);
});

test('what is detached, or another host has, is told once', async () => {
  await putController('nvme0', 'nqn.a');
  await putController('nvme1', 'nqn.a');
  await putController('nvme2', 'nqn.b');
  await putNamespace('nvme0n1', 'nqn.a', 1);
  const lists = { '/dev/nvme0': [1, 5], '/dev/nvme1': [1, 5], '/dev/nvme2': [1] };
  const { devices, commands } = list(['/dev/nvme0n1'], lists);
  expect((await devices).slice(1)).toMatchObject([
    { name: '/dev/nvme0-nsid5', serial: 'serial of nqn.a', sizeBytes: 0, nvmeSubsystem: 'nqn.a', isDetached: true },
    { name: '/dev/nvme2-nsid1', serial: 'serial of nqn.b', sizeBytes: 0, nvmeSubsystem: 'nqn.b', isDetached: true },
  ]);
  expect(commands).toContain('nvme list-ns /dev/nvme0 --all --output-format=json');
});

test('a controller that does not manage namespaces is asked for its own', async () => {
  await putController('nvme0', 'nqn.a');
  await putNamespace('nvme0n1', 'nqn.a', 1);
  const { devices, commands } = list(['/dev/nvme0n1'], { '/dev/nvme0': [1] }, 0);
  expect(await devices).toHaveLength(1);
  expect(commands).toContain('nvme list-ns /dev/nvme0 --output-format=json');
});

test('one that does not answer is named', async () => {
  await putController('nvme0', 'nqn.a');
  await expect(list([], {}).devices).rejects.toThrow('read which namespaces /dev/nvme0 has');
});

test('a machine without NVMe', async () => {
  expect(await list(['/dev/sda'], {}).devices).toHaveLength(1);
});
