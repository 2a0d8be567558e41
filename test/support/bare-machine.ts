import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Agent, fetch } from 'undici';
import { type FakeConductor, fakeNodeUuid, fakeToken, startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { start } from '#shared/process/run.ts';
import { tcgCpu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

/** A disk of the machine: a raw file, and QEMU's device without its drive, `virtio-blk-pci,serial=A`. */
export interface BareDisk {
  readonly name: string;
  readonly file: string;
  readonly device: string;
}

/** Data of the node that a test gives the agent. */
export interface BareNode {
  readonly properties?: object;
  readonly target_raid_config?: object;
}

/** A machine that runs the ramdisk, without conductor or BMC: the agent's own API drives it. */
export interface BareMachine {
  /** Runs a clean step to its end, and gives its result. @throws Error with the agent's answer when it fails */
  clean(
    step: string,
    options?: {
      readonly interface?: string;
      readonly args?: object;
      readonly driverInfo?: object;
      /** In place of those of the machine's node. */
      readonly properties?: object;
      /** Kind of flow, where the step is another one's. */
      readonly kind?: 'clean' | 'deploy';
    },
  ): Promise<Record<string, unknown>>;
  /** Asks the agent for the machine's inventory, as it is now. */
  inventory(): Promise<Record<string, unknown>>;
  /** By the agent, as a conductor ends a flow; resolves when QEMU has ended. */
  powerOff(): Promise<void>;
  kill(): Promise<void>;
}

/**
 * Boots the ramdisk in QEMU, which starts the kernel itself and hands the agent's port out, and waits for its first
 * heartbeat.
 * @param folder for the serial console's log
 * @param controllers QEMU's devices that disks are plugged into, beside the AHCI controller
 */
export async function bootBareMachine(
  folder: string,
  disks: readonly BareDisk[],
  node: BareNode = {},
  controllers: readonly string[] = [],
): Promise<BareMachine> {
  const kernel = resolve('build/ramdisk/vmlinuz');
  if (!existsSync(kernel)) throw new Error(`there is no ramdisk at ${kernel}: run npm run set-up first`);
  const conductor = await startFakeConductor();
  const port = await freePort();
  const serialLog = join(folder, 'serial.log');
  const qemu = start('qemu-system-x86_64', qemuArguments({ kernel, disks, controllers, conductor, port, serialLog }));
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  qemu.stdout.resume();
  let errors = '';
  qemu.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const close = async (): Promise<void> => {
    await qemu.exited;
    await conductor.close();
    await dispatcher.close();
  };
  const closed: { once?: Promise<void> } = {};
  const end = (): Promise<void> => (closed.once ??= close());
  const kill = async (): Promise<void> => {
    qemu.kill('SIGKILL');
    await end();
  };
  const lastLines = (): string => readFileSync(serialLog, 'latin1').slice(-4000);
  const post = commandPoster(port, dispatcher);
  const up = conductor.requests(/^\/v1\/heartbeat\//, 1).then(() => 'up');
  const ended = qemu.exited.then((code) => `QEMU ended with ${code}: ${errors}`);
  const silent = waitUntil('the agent', () => undefined, { timeoutMs: 12 * 60_000 }).catch(() => lastLines());
  const outcome = await Promise.race([up, ended, silent]);
  if (outcome !== 'up') {
    await kill();
    throw new Error(`the agent did not come up: ${outcome}`);
  }
  return {
    clean: async (step, options = {}) => {
      const body = {
        uuid: fakeNodeUuid,
        properties: {},
        instance_info: {},
        driver_internal_info: {},
        ...node,
        ...(options.properties ? { properties: options.properties } : {}),
        driver_info: options.driverInfo ?? {},
      };
      const asked = { step, interface: options.interface ?? 'deploy', args: options.args ?? {} };
      const kind = options.kind ?? 'clean';
      const result = await post(`${kind}.execute_${kind}_step`, { step: asked, node: body, ports: [] }, true);
      if (result['command_status'] !== 'SUCCEEDED') {
        throw new Error(`${step}: ${JSON.stringify(result)}\n${lastLines()}`);
      }
      return (result['command_result'] as Record<string, Record<string, unknown>>)[`${kind}_result`] ?? {};
    },
    inventory: async () =>
      (await post('poll.get_hardware_info', {}, true))['command_result'] as Record<string, unknown>,
    powerOff: async () => {
      // it ends before it could answer that it has
      await post('standby.power_off', {}, false);
      await end();
    },
    kill,
  };
}

type Answer = Readonly<Record<string, unknown>>;

/** Has the agent run a command. */
function commandPoster(
  port: number,
  dispatcher: Agent,
): (name: string, params: object, wait: boolean) => Promise<Answer> {
  return async (name, params, wait) => {
    const answer = await fetch(`https://127.0.0.1:${port}/v1/commands/?wait=${wait}&agent_token=${fakeToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, params }),
      dispatcher,
      signal: AbortSignal.timeout(12 * 60_000),
    });
    return (await answer.json()) as Answer;
  };
}

function qemuArguments(machine: {
  readonly kernel: string;
  readonly disks: readonly BareDisk[];
  readonly controllers: readonly string[];
  readonly conductor: FakeConductor;
  readonly port: number;
  readonly serialLog: string;
}): string[] {
  const api = `http://10.0.2.2:${new URL(machine.conductor.url).port}`;
  const parameters = `console=ttyS0,115200 BOOTIF=01-52-54-00-12-34-56 ipa-api-url=${api}`;
  return [
    ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', tcgCpu, '-smp', '2', '-m', '1024'],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ['-serial', `file:${machine.serialLog}`],
    ['-kernel', machine.kernel, '-initrd', resolve('build/ramdisk/initrd.img'), '-append', parameters],
    ['-netdev', `user,id=net0,hostfwd=tcp:127.0.0.1:${machine.port}-:9999`],
    ['-device', 'virtio-net-pci,netdev=net0,mac=52:54:00:12:34:56', '-device', 'ich9-ahci,id=ahci0'],
    ...machine.controllers.map((device) => ['-device', device]),
    ...machine.disks.map(({ name, file, device }) => [
      '-drive',
      `if=none,id=${name},format=raw,cache=unsafe,discard=unmap,file=${file}`,
      '-device',
      `${device},drive=${name}`,
    ]),
  ].flat();
}
