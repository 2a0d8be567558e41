import { once } from 'node:events';
import { access, chmod, copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DeployedSystem, findRootFileSystem, withDeployedSystem } from '#agent/boot/deployed-system.ts';
import { run } from '#shared/process/run.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

/** Programs of a hostile image on a real block device, in real namespaces; needs root. */

const applets = [
  'chroot',
  'hostname',
  'kill',
  'mknod',
  'mount',
  'ps',
  'reboot',
  'sh',
  'sleep',
  'umount',
  'unshare',
  'wget',
];
const secret = 'agent-token-of-this-boot';
let folder = '';
let token = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-image-programs-'));
  token = join(folder, 'ramdisk/token');
  await mkdir(join(folder, 'ramdisk'));
  await writeFile(token, secret);
  const tree = join(folder, 'tree');
  for (const path of ['bin', 'etc', 'usr/lib', 'dev', 'proc', 'sys'])
    await mkdir(join(tree, path), { recursive: true });
  await copyFile('/usr/bin/busybox', join(tree, 'bin/busybox'));
  await chmod(join(tree, 'bin/busybox'), 0o755);
  for (const name of applets) await symlink('busybox', join(tree, 'bin', name));
  // what the ramdisk has there is covered by a tmpfs, or read for the image's own, where links are followed outside
  await symlink(join(folder, 'ramdisk'), join(tree, 'run'));
  await symlink(token, join(tree, 'etc/os-release'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function inHostileSystem<T>(use: (system: DeployedSystem, device: string) => Promise<T>, network = false) {
  return withLoopDevice(join(folder, 'disk'), 64 * 1024 * 1024, async (device) => {
    await run('mkfs.ext4', ['-q', '-F', '-d', join(folder, 'tree'), device]);
    const options = { root: { name: device }, espDevice: undefined, devices: [device], network };
    return withDeployedSystem(run, options, (system) => use(system, device));
  });
}

/** Gives what a shell command of the image says, on either output. */
async function say(system: DeployedSystem, command: string): Promise<string> {
  const lines: string[] = [];
  const onStdoutLine = (line: string): unknown => lines.push(line);
  const okExitCodes = Array.from({ length: 256 }, (_, code) => code);
  await system.run('sh', ['-c', `exec 2>&1; ${command}`], { onStdoutLine, okExitCodes, timeoutMs: 240_000 });
  return lines.join('\n');
}

test('it sees itself, its own disk and its own processes', async () => {
  await inHostileSystem(async (system, device) => {
    expect(await say(system, 'echo $$; ps | wc -l; echo written > /file; cat /file')).toMatch(/^1\n[3-6]\nwritten$/);
    expect((await say(system, 'ls /dev')).split('\n')).toContain(device.slice('/dev/'.length));
    const disks = await say(system, 'for d in /dev/*; do test -b $d && echo $d; done');
    expect(disks).toBe(device);
    expect(await say(system, 'head -c 4 /dev/zero | wc -c; test -e /dev/fd/0 && echo fd')).toBe('4\nfd');
  });
});

test.each([
  ['links of processes', 'cat /proc/1/root/TOKEN; cat /proc/$PPID/root/TOKEN; cat /proc/*/root/TOKEN'],
  [
    'a chroot in a chroot',
    'mkdir -p /d; chroot /d /bin/sh; for i in 1 2 3 4 5 6 7 8; do cd ..; done; chroot . /bin/cat TOKEN',
  ],
  [
    'a new mount',
    'mkdir -p /d; mount -t tmpfs tmpfs /d && echo TOKEN-mounted; mount -t proc p /d && cat /d/1/root/TOKEN',
  ],
  ['a namespace of its own', 'unshare --user --map-root-user sh -c "chroot / cat TOKEN"; unshare --mount cat TOKEN'],
  ['a device', 'mknod /d b 7 0 && echo TOKEN-made; mknod /dev/mem c 1 1 && echo TOKEN-made'],
])('no way out by %s', async (_, command) => {
  const said = await inHostileSystem((system) => say(system, command.replaceAll('TOKEN', token)));
  expect(said).not.toBe('');
  for (const word of [secret, `${token}-mounted`, `${token}-made`]) expect(said).not.toContain(word);
});

test('nothing of the kernel is changed', async () => {
  const change = 'echo core > /proc/sys/kernel/core_pattern && echo changed';
  await inHostileSystem(async (system) => {
    expect(await say(system, change)).toMatch(/Read-only file system/);
    expect(await say(system, `mount -o remount,rw /proc; mount -t proc p /proc; ${change}`)).toMatch(
      /(permitted|denied)[^]*Read-only file system/,
    );
    expect(await say(system, 'mkdir /sys/x; hostname stranger; umount /proc; reboot -f')).not.toBe('');
  });
});

test('links of the image lead no mount into the ramdisk', async () => {
  await inHostileSystem(async (system) => {
    // /run is a link to the folder with the token
    await access(token);
    expect(await readdir(join(folder, 'ramdisk'))).toEqual(['token']);
    expect(await say(system, 'echo mine > /run/file; cat /run/file; cat /etc/os-release')).toMatch(/^mine\n.*No such/);
  });
  expect(await readdir(join(folder, 'ramdisk'))).toEqual(['token']);
  await withLoopDevice(join(folder, 'disk'), 64 * 1024 * 1024, async (device) => {
    await run('mkfs.ext4', ['-q', '-F', '-d', join(folder, 'tree'), device]);
    const partition = { name: device, number: 1, sizeBytes: 1, fsType: 'ext4', fsUuid: null };
    const listed = [{ ...partition, fsLabel: null, partLabel: null, partType: null }];
    await expect(findRootFileSystem(run, listed, undefined)).rejects.toThrow('no partition holds a Linux system');
  });
});

test('all that it has started ends with it, or when it takes too long', async () => {
  await inHostileSystem(async (system) => {
    const sleeper = 98_765 + Math.floor(Math.random() * 1000);
    await say(system, `sleep ${sleeper} & busybox setsid sleep ${sleeper} & echo done`);
    const stopped = system.run('sh', ['-c', `busybox setsid sleep ${sleeper} & sleep ${sleeper}`], { timeoutMs: 500 });
    await expect(stopped).rejects.toMatchObject({ code: 'timeout' });
    const { stdout } = await run('ps', ['-eo', 'args']);
    expect(stdout).not.toContain(`sleep ${sleeper}`);
  });
});

test('the network is there for tasks of operators alone', async () => {
  const server = createServer((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nreached'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const ask = (system: DeployedSystem): Promise<string> => say(system, `wget -q -O - http://127.0.0.1:${port}/`);
  expect(await inHostileSystem(ask)).toMatch(/unreachable|refused/);
  expect(await inHostileSystem(ask, true)).toContain('reached');
  server.close();
});
