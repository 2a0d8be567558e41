import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { encrypt } from 'unixcrypt';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type FakeConductor, fakeToken, startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { buildRamdisk } from '#image-build/ramdisk/build-ramdisk.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { CommandResult, Heartbeat } from '#shared/wire/agent-calls.ts';
import { tcgCpu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

/**
 * A ramdisk with the custom steps of `agent/custom/example`, booted on QEMU's user network: its hardware managers, its
 * script steps, a console, and rescue over SSH.
 */

const output = 'build/ramdisk-custom';
const password = 'Grüße vom Retter';

let conductor: FakeConductor;
let directory: string;
let machine: RunningProcess;
let agent: { readonly call: (name: string, params: unknown) => Promise<CommandResult>; readonly port: number };
let sshPort: number;
let dispatcher: Agent;
let serialLog: string;

const serial = (): Promise<string> => readFile(serialLog, 'latin1');

beforeAll(async () => {
  await buildRamdisk(
    { run, say: (line) => void process.stdout.write(`${line}\n`), force: false, refresh: false },
    { output, extra: ['agent/custom/example'], compression: 'quick' },
  );
  directory = await mkdtemp(join(tmpdir(), 'baton-ramdisk-'));
  serialLog = join(directory, 'serial.log');
  conductor = await startFakeConductor({ config: { baton: { progress_interval_ms: 100 } } });
  const agentPort = await freePort();
  sshPort = await freePort();
  const api = `http://10.0.2.2:${new URL(conductor.url).port}`;
  const forward = `hostfwd=tcp:127.0.0.1:${agentPort}-:9999,hostfwd=tcp:127.0.0.1:${sshPort}-:22`;
  machine = start(
    'qemu-system-x86_64',
    [
      ['-accel', 'tcg,thread=multi', '-cpu', tcgCpu, '-smp', '2', '-m', '1024', '-nodefaults', '-display', 'none'],
      ['-kernel', join(output, 'vmlinuz'), '-initrd', join(output, 'initrd.img')],
      ['-append', `console=ttyS0,115200 ipa-api-url=${api}`],
      ['-chardev', `file,id=serial,path=${serialLog}`, '-serial', 'chardev:serial'],
      ['-netdev', `user,id=net0,${forward}`, '-device', 'virtio-net-pci,netdev=net0'],
    ].flat(),
  );
  machine.stderr.pipe(process.stderr);
  const [seen] = await conductor.requests(/heartbeat/, 1);
  const beat = Heartbeat.parse(seen?.body);
  const pinned = { ca: beat.agent_verify_ca ?? '', checkServerIdentity: () => undefined }; // it is 10.0.2.15's
  dispatcher = new Agent({ connect: pinned });
  agent = {
    port: agentPort,
    call: async (name, params) => {
      const answer = await request(`https://127.0.0.1:${agentPort}/v1/commands/?agent_token=${fakeToken}&wait=true`, {
        method: 'POST',
        dispatcher,
        body: JSON.stringify({ name, params }),
      });
      return CommandResult.parse(await answer.body.json());
    },
  };
});

afterAll(async () => {
  machine?.kill('SIGKILL');
  await machine?.exited;
  await dispatcher?.destroy();
  await conductor?.close();
  if (directory) await rm(directory, { recursive: true });
});

test('its hardware managers and script steps are offered and run', async () => {
  const { command_result: lists } = await agent.call('deploy.get_deploy_steps', {});
  expect(lists).toMatchObject({
    deploy_steps: { MotdScripts: [{ step: 'write_motd', interface: 'deploy', priority: 70 }] },
    hardware_manager_version: { acme_nic: '1', motd_scripts: expect.stringMatching(/^1-/) as unknown },
  });
  const clean = await agent.call('clean.execute_clean_step', {
    step: { interface: 'management', step: 'disable_pause_frames', baton_command_id: 'nic' },
  });
  expect(clean).toMatchObject({ command_status: 'SUCCEEDED', command_result: { clean_result: { changed: [] } } });
  const motd = await agent.call('deploy.execute_deploy_step', {
    step: { interface: 'deploy', step: 'write_motd', baton_command_id: 'motd' },
  });
  expect(motd.command_error?.details).toMatch(/write-motd exited with 1: no image was written in this boot/);
});

test('a console is a terminal in the ramdisk', async () => {
  const query = `agent_token=${fakeToken}&columns=91&rows=17`;
  const socket = new WebSocket(`wss://127.0.0.1:${agent.port}/v1/console?${query}`, {
    rejectUnauthorized: false, // the certificate is 10.0.2.15's; that it is pinned shows console.test.ts
  });
  let screen = '';
  socket.on('message', (data) => {
    screen += (data as Buffer).toString();
  });
  const closed = new Promise((resolve, reject) => {
    socket.once('close', resolve);
    socket.once('error', reject);
  });
  await expect.poll(() => screen).toMatch(/ramdisk:~# /);
  socket.send(Buffer.from('tty; stty size; id -u; hostname; echo "Grüße" | wc -c\r'));
  await expect.poll(() => screen).toMatch(/\/dev\/pts\/0\r\n17 91\r\n0\r\nbaton\r\n8\r\n/);
  socket.send(Buffer.from('exit\r'));
  await closed;
  expect(screen).toContain('{"type":"end","reason":"the shell ended with 0","exit_code":0}');
});

test('rescue: SSH with the password, no agent any more', async () => {
  const params = { rescue_password: encrypt(password), hashed: true };
  expect(await agent.call('rescue.finalize_rescue', params)).toMatchObject({ command_status: 'SUCCEEDED' });
  const askpass = join(directory, 'askpass');
  const ssh = async (secret: string, command: string) => {
    await writeFile(askpass, `#!/bin/sh\necho '${secret}'\n`, { mode: 0o755 });
    const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'NumberOfPasswordPrompts=1'];
    return run(
      'ssh',
      [...options.flatMap((each) => ['-o', each]), '-p', String(sshPort), 'rescue@127.0.0.1', command],
      { env: { SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force' }, okExitCodes: [0, 255], timeoutMs: 300_000 },
    );
  };
  expect(await ssh(password, 'id -u; cat /etc/hostname 2> /dev/null; lsblk --version')).toMatchObject({
    stdout: expect.stringMatching(/^0\nlsblk from util-linux/) as unknown,
  });
  expect(await ssh('wrong', 'id')).toMatchObject({ exitCode: 255, stdout: '' });
  const isGone = () => agent.call('poll.get_hardware_info', {}).then(() => undefined, String);
  // answers under way have 2 s
  expect(await waitUntil('the agent to stop serving', isGone)).toMatch(/closed|reset|refused/i);
  await waitUntil('fresh addresses', async () => /lost its DHCP client/.test(await serial()) || undefined, {
    timeoutMs: 300_000,
  });
  expect(await ssh(password, 'pidof node || echo no agent')).toMatchObject({ stdout: 'no agent\n' });
  expect(await serial()).toContain('rescue: log in over SSH as rescue');
});
