import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runPluginTask } from '#agent/plugin/run-plugin-task.ts';
import { mountsFolder } from '#agent/storage/file-systems/mount.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, run } from '#shared/process/run.ts';
import { PluginTaskArgs } from '#shared/wire/step.ts';
import { isDead } from '#test/support/is-dead.ts';

/** Real processes; what runs in a deployed system needs root, for it is mounted and entered there. */

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-plugin-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const script = (text: string, executable = true) => ({
  content: Buffer.from(`#!/bin/sh\n${text}\n`).toString('base64'),
  executable,
});
const task = (cmd: string, more: Partial<PluginTaskArgs> = {}): PluginTaskArgs =>
  PluginTaskArgs.parse({
    plugin: 'ntp',
    version: '1.2',
    task: 3,
    stage: 'pre_deployment/10',
    cmd,
    timeout: 240,
    node_name: 'node1',
    ...more,
  });

function machine(overrides: { readonly run?: Run } = {}) {
  const lines: string[] = [];
  const phases: string[] = [];
  const remember = (fields: unknown): void => {
    const { line } = fields as { readonly line?: string };
    if (line !== undefined) lines.push(line);
  };
  const log: Log = { ...silentLog, info: remember, warn: remember };
  return {
    lines,
    phases,
    context: {
      run: overrides.run ?? run,
      clock: createInstantClock(),
      log,
      signal: new AbortController().signal,
      node: { uuid: 'the-node', properties: {}, instance_info: {}, driver_internal_info: {} },
      reportProgress: ({ phase }: { readonly phase: string }) => void phases.push(phase),
      writtenImage: { current: undefined },
    },
  };
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return errorChain(error);
  }
  throw new Error('it did not fail');
}

const leftovers = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => /^baton-plugin-(?!test-)/.test(name));

describe('in the ramdisk', () => {
  test('a command runs beside the files of its plugin, and says how far it is', async () => {
    const { context, lines, phases } = machine();
    const before = await leftovers();
    const files = {
      'deploy.sh': script('. ./lib/common.sh; say "$LEVEL"; pwd; echo oops >&2'),
      'lib/common.sh': script('say() { echo "progress: level $1"; echo \'{"level": "\'"$1"\'"}\'; }', false),
    };
    const outcome = await runPluginTask(
      context,
      task('./deploy.sh && echo "it\'s $((1 + 1))"', { plugin_files: files, env: { LEVEL: '7' } }),
    );
    expect(outcome).toEqual({ kind: 'done', output: { level: '7' } });
    expect(phases).toEqual(['level 7']);
    expect(lines).toContain("it's 2");
    expect(lines).toContain('oops');
    expect(lines.some((line) => line.includes('/baton-plugin-'))).toBe(true);
    expect(await leftovers()).toEqual(before);
  });

  test('it knows who it is, and nothing of its text becomes another command', async () => {
    const { context, lines } = machine();
    const cwd = join(folder, 'a b; echo hacked');
    await mkdir(cwd);
    const names = ['NODE_UUID', 'NODE_NAME', 'PLUGIN', 'PLUGIN_VERSION', 'STAGE', 'TASK', 'ROOT_DEVICE'];
    await runPluginTask(context, task(`pwd; echo "${names.map((name) => `$BATON_${name}`).join(',')}"`, { cwd }));
    expect(lines).toEqual([cwd, 'the-node,node1,ntp,1.2,pre_deployment/10,3,']);
  });

  test('a failure tells the command and the end of its standard error', async () => {
    const { context } = machine();
    const text = await messageOf(runPluginTask(context, task('echo so far; echo no driver >&2; exit 3')));
    expect(text).toContain('run "echo so far; echo no driver >&2; exit 3" in the ramdisk: ');
    expect(text).toContain('exited with 3: no driver');
    expect(await messageOf(runPluginTask(context, task('./missing')))).toContain('./missing');
    expect(await messageOf(runPluginTask(context, task('true', { cwd: 'missing' })))).toContain('missing');
  });

  test('what takes too long is killed with all that it has started', async () => {
    const { context, lines } = machine();
    const slow = task('sleep 600 & echo $!; wait', { timeout: 0.3 });
    expect(await messageOf(runPluginTask(context, slow))).toContain('took longer than 300 ms');
    await isDead(lines[0]);
  });

  test('194 asks for a reboot, and a path that leads elsewhere is refused', async () => {
    const { context } = machine();
    expect(await runPluginTask(context, task('exit 194'))).toMatchObject({
      kind: 'reboot',
      reason: 'plugin ntp: task 3 (pre_deployment/10) asks for it',
    });
    const files = { '../x': script('true') };
    expect(await messageOf(runPluginTask(context, task('true', { plugin_files: files })))).toContain('leads elsewhere');
  });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('plugin tasks in a deployed system are not tested: mounting needs root');

describe.skipIf(!isRoot)('in the deployed system', () => {
  const disk = {
    name: 'fake',
    path: '/dev/fake',
    type: 'disk',
    size: 8e9,
    children: [
      { name: 'fake1', path: '/dev/fake1', type: 'part', size: 1e8 },
      { name: 'fake2', path: '/dev/fake2', type: 'part', size: 7e9 },
    ],
  };

  /** Its partition is a folder: the root file system of a small system. */
  function machineWith(fsType = 'ext4') {
    const mounts: string[] = [];
    const withDisk: Run = async (command, args, options) => {
      if (command === 'lsblk') return answer(JSON.stringify({ blockdevices: [disk] }));
      if (command === 'blkid') return answer(args.includes('/dev/fake2') ? `TYPE=${fsType}\nUUID=b2a7\n` : '');
      if (command === 'udevadm') return answer('');
      if (command === 'mount' && args.includes('/dev/fake2')) {
        mounts.push(args.join(' '));
        return run('mount', ['--bind', folder, args.at(-1) ?? ''], options);
      }
      return run(command, args, options);
    };
    return { ...machine({ run: withDisk }), mounts };
  }

  async function deploySystem(): Promise<void> {
    for (const each of ['bin', 'etc', 'root']) await mkdir(join(folder, each));
    await copyFile('/bin/busybox', join(folder, 'bin/busybox'));
    await chmod(join(folder, 'bin/busybox'), 0o755);
    await symlink('/bin/busybox', join(folder, 'bin/sh'));
    for (const name of ['echo', 'cat', 'ls', 'sleep', 'setsid', 'pwd']) {
      await symlink('busybox', join(folder, `bin/${name}`));
    }
    await writeFile(join(folder, 'etc/os-release'), 'ID=tiny\n');
  }

  const post = (cmd: string, more: Partial<PluginTaskArgs> = {}) => task(cmd, { stage: 'post_deployment', ...more });
  const mounted = async (): Promise<string[]> =>
    (await readFile('/proc/mounts', 'utf8')).split('\n').filter((line) => line.includes(mountsFolder));

  test('a command runs in it, with the kernel’s file systems, and leaves only what it has written', async () => {
    await deploySystem();
    const { context, lines } = machineWith();
    const files = { 'deploy.sh': script('echo "$BATON_ROOT_DEVICE $HOME" > /etc/mark; cat /etc/os-release; pwd') };
    await runPluginTask(context, post('./deploy.sh; ls /proc/self/status /dev/null', { plugin_files: files }));
    expect(lines).toEqual(['ID=tiny', '/run/baton-plugin', '/dev/null', '/proc/self/status']);
    expect(await readFile(join(folder, 'etc/mark'), 'utf8')).toBe('/dev/fake /root\n');
    expect(await readdir(join(folder, 'run'))).toEqual([]);
    expect(await mounted()).toEqual([]);
  });

  test('all is unmounted after a failure, a timeout, and a service that was left running', async () => {
    await deploySystem();
    const { context } = machineWith();
    expect(await messageOf(runPluginTask(context, post('echo bad >&2; exit 1')))).toContain('in the deployed system: ');
    expect(await mounted()).toEqual([]);
    expect(await messageOf(runPluginTask(context, post('setsid sleep 60 & sleep 60', { timeout: 0.5 })))).toContain(
      '500 ms',
    );
    expect(await mounted()).toEqual([]);
    await runPluginTask(context, post('setsid sleep 60 &'));
    expect(await mounted()).toEqual([]);
    await runPluginTask(context, post('setsid sleep 60 > /dev/null 2>&1 &'));
    expect(await mounted()).toEqual([]);
  });

  test('an image without a shell, without a system, and on LVM', async () => {
    const { context } = machineWith();
    expect(await messageOf(runPluginTask(context, post('true')))).toContain('no partition holds a Linux system');
    await mkdir(join(folder, 'etc'));
    await writeFile(join(folder, 'etc/os-release'), 'ID=tiny\n');
    expect(await messageOf(runPluginTask(context, post('true')))).toContain('the deployed system has no shell');
    expect(await messageOf(runPluginTask(machineWith('LVM2_member').context, post('true')))).toContain(
      "tasks can't run in a system whose root file system is on LVM (/dev/fake2)",
    );
    expect(await mounted()).toEqual([]);
  });
});

function answer(stdout: string) {
  return { stdout, stderr: '', exitCode: 0, durationMs: 1 };
}
