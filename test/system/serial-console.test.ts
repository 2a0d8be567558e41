import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openConsole } from '#conductor/cli/console.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { talkAsMachine } from '#test/simulators/redfish/serial-console.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { startSshConsole } from '#test/simulators/redfish/ssh-console.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createTestTerminal, type TestTerminal } from '#test/support/console-terminal.ts';
import { type SimulatedBmc, startIpmiSim } from '#test/support/ipmi-sim.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** `baton console --serial`: through a conductor and a BMC to a machine's serial line. */

let conductor: ConductorInProcess;
let operator: Operator;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_CONSOLE: 'loopback' } });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  for (const close of closing) await close();
});

type Sitting = TestTerminal & { readonly ended: Promise<unknown> };
const sitting: Sitting[] = [];
afterEach(async () => {
  for (const terminal of sitting.splice(0)) {
    terminal.type('\r~.');
    await terminal.ended;
  }
});

function sit(name: string): Sitting {
  const terminal = createTestTerminal();
  const settings = readClientSettings({ BATON_URL: conductor.url }, { insecure: false });
  const connection = { client: createApiClient(settings), settings };
  const ended = openConsole(connection, name, terminal.terminal, 'serial').catch((error: unknown) => error);
  const made = { ...terminal, ended };
  sitting.push(made);
  return made;
}

async function enrol(name: string, node: object, enabled = true): Promise<void> {
  await operator.call('POST', '/v1/nodes', { name, ...node });
  if (enabled) await operator.call('PUT', `/v1/nodes/${name}/states/console`, { enabled: true });
}

/** The one before has gone. */
async function isFree(name: string): Promise<void> {
  const ask = () => operator.call('GET', `/v1/nodes/${name}/console/serial`).catch(() => undefined);
  await waitUntil('the console to be free', ask, { timeoutMs: 60_000, everyMs: 20 });
}

async function history(name: string): Promise<string[]> {
  const { history: entries } = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
  return (entries as { event: string }[]).map(({ event }) => event).filter((event) => event.includes('console'));
}

describe('by ipmitool, against ipmi_sim', () => {
  let bmc: SimulatedBmc;
  let line: Server;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    line = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      talkAsMachine(socket);
    });
    await new Promise<void>((resolve) => void line.listen(0, '127.0.0.1', resolve));
    bmc = await startIpmiSim({ serialPort: (line.address() as AddressInfo).port });
    await enrol('sol', { driver: 'ipmi', driver_info: bmc.driverInfo, console_interface: 'ipmitool-socat' });
    closing.push(
      () => bmc.stop(),
      () => sockets.forEach((socket) => socket.destroy()),
      () => line.close(),
    );
  });

  /** Types it again while nothing comes: ipmi_sim drops a first packet whose number is that of the last of the session before. */
  const typeUntilSeen = async (terminal: TestTerminal, text: string) => {
    let isSeen = false;
    const seen = terminal.sees(new RegExp(`${text}\r`)).then(() => (isSeen = true));
    const typeAgain = (): true | undefined => {
      if (isSeen) return true;
      terminal.type(`${text}\r`);
      return undefined;
    };
    await Promise.all([seen, waitUntil('the text to come back', typeAgain, { everyMs: 500 })]);
  };

  test('what is typed comes back; who leaves makes room', async () => {
    for (const text of ['hello', 'again']) {
      await isFree('sol');
      const terminal = sit('sol');
      await terminal.sees(/SOL Session operational/);
      await typeUntilSeen(terminal, text);
      terminal.type(`${text} twice\r`);
      await terminal.sees(new RegExp(`${text} twice\r`));
      terminal.type('~.');
      expect(await terminal.ended).toBeUndefined();
    }
    await waitUntil('the ends to be recorded', async () => (await history('sol')).length === 5 || undefined, {
      timeoutMs: 60_000,
      everyMs: 50,
    });
    expect((await history('sol')).toSorted()[0]).toMatch(/^console of somebody at 127\.0\.0\.1 closed after \d+ s: /);
  });

  test('there is one at a time', async () => {
    await isFree('sol');
    const terminal = sit('sol');
    await terminal.sees(/SOL Session operational/);
    expect(await sit('sol').ended).toMatchObject({ message: 'The console is in use by somebody at 127.0.0.1.' });
  });

  test('a disabled one ends, and none is given', async () => {
    await isFree('sol');
    const terminal = sit('sol');
    await terminal.sees(/SOL Session operational/);
    await operator.call('PUT', '/v1/nodes/sol/states/console', { enabled: false });
    expect(await terminal.ended).toMatchObject({ message: 'the console was closed: the console was disabled' });
    expect(await sit('sol').ended).toMatchObject({ message: expect.stringContaining('is disabled') as unknown });
    await operator.call('PUT', '/v1/nodes/sol/states/console', { enabled: true });
  });

  test('a wrong password is told in the console, and nowhere is it shown', async () => {
    await enrol('wrong', {
      driver: 'ipmi',
      driver_info: { ...bmc.driverInfo, ipmi_password: 'not-it' },
      console_interface: 'ipmitool-shellinabox',
    });
    const terminal = sit('wrong');
    expect(String(await terminal.ended)).toMatch(/ipmi_password/);
    expect(terminal.text() + (await history('wrong')).join()).not.toContain('not-it');
  });
});

describe('by Redfish', () => {
  let bmc: RedfishSimulator;
  let node: { readonly driver: string; readonly console_interface: string; readonly driver_info: object };
  beforeAll(async () => {
    bmc = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
    closing.push(() => bmc.close());
    const login = { redfish_address: bmc.address, redfish_username: 'admin', redfish_password: 'secret' };
    node = { driver: 'redfish', console_interface: 'redfish-serial', driver_info: login };
  });

  async function talks(name: string): Promise<void> {
    const terminal = sit(name);
    await terminal.sees(/login: /);
    terminal.type('root\r');
    await terminal.sees(/root/);
  }

  test('over a WebSocket, with the login of all requests', async () => {
    bmc.quirks.serialConsole = { WebSocket: { ServiceEnabled: true, ConsoleURI: '/console/default' } };
    await enrol('web', node);
    await talks('web');
    expect(await operator.node('web')).toMatchObject({ console_enabled: true, console_interface: 'redfish-serial' });
    expect(await operator.call('GET', '/v1/nodes/web/states/console')).toEqual({
      console_enabled: true,
      console_info: { type: 'websocket', url: expect.stringMatching(/^ws:.*\/console\/serial$/) as unknown },
    });
  });

  test('over SSH, as a command of the BMC, with its host key pinned', async () => {
    const ssh = await startSshConsole();
    const { offer, hostKey, commands } = ssh;
    closing.push(() => ssh.close());
    bmc.quirks.serialConsole = { SSH: offer };

    await enrol('ssh', node);
    expect(await sit('ssh').ended).toMatchObject({ message: expect.stringContaining(hostKey) as unknown });
    expect(commands).toEqual([]);
    const pin = { op: 'add', path: '/driver_info/redfish_console_host_key', value: hostKey };
    const password = { op: 'add', path: '/driver_info/redfish_password', value: 'secret' };
    await operator.call('PATCH', '/v1/nodes/ssh', [pin, password]);
    await talks('ssh');
    expect(commands).toEqual(['start sol\r']);
  });

  test('a BMC that offers none says so', async () => {
    bmc.quirks.serialConsole = undefined;
    await enrol('bare', node);
    expect(await sit('bare').ended).toMatchObject({
      message: expect.stringContaining('offers no serial console over WebSocket or SSH') as unknown,
    });
  });

  test('another server than the BMC is not asked, whatever its links name', async () => {
    bmc.quirks.serialConsole = { WebSocket: { ServiceEnabled: true, ConsoleURI: 'wss://192.0.2.9/console' } };
    await enrol('led', node);
    // the BMC itself, which has no such path
    expect(await sit('led').ended).toMatchObject({
      message: expect.stringContaining(`open the serial console at ${bmc.address}: the BMC answered 401`) as unknown,
    });
  });
});

test('a node without a console interface is refused, with what may be set', async () => {
  await enrol('none', { driver: 'ipmi', driver_info: { ipmi_address: '192.0.2.1' } }, false);
  await expect(operator.call('PUT', '/v1/nodes/none/states/console', { enabled: true })).rejects.toThrow(
    /console_interface 'no-console'.*ipmitool-socat or ipmitool-shellinabox/,
  );
  await expect(operator.call('PUT', '/v1/nodes/none/states/console', { enabled: 'perhaps' })).rejects.toThrow(
    /enabled/,
  );
});
