import { expect, onTestFinished, test } from 'vitest';
import type { RecordingAnswer } from '#conductor/api/records.ts';
import { recordCommand } from '#conductor/cli/shell/record-command.ts';
import { maskAnswers } from '#conductor/http/nodes/recordings.routes.ts';
import { parseNetworksFile } from '#conductor/networks/networks-file.ts';
import { switchDrivers } from '#conductor/networks/switches/index.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { openTestApi } from '#test/support/test-api.ts';

const system = textSystems.find(({ name }) => name === 'ios-xe');
if (!system) throw new Error('there is no simulated ios-xe');
const simulated = await startTextSwitch(system, [1, 100]);
simulated.configure('interface GigabitEthernet1/0/1', 'switchport mode access', 'switchport access vlan 100');
const networks = parseNetworksFile(
  `switches:
  - {switch_id: leaf1, driver: ios-xe, endpoint: '${simulated.endpoint}', credential: leafs, host_key: '${simulated.hostKey}', ports: ["GigabitEthernet1/0/{1-48}"]}
  - {switch_id: "00:11:22:33:44:55", driver: ovs, endpoint: "unix:/nowhere"}
networks: {blue: {vlan: 100}}
defaults: {provisioning: blue, cleaning: blue, tenant: blue}`,
  'networks.yaml',
  switchDrivers,
);
const api = await openTestApi({ networks });
const { username, password } = simulated;
await api.call('PUT', '/api/v1.0/credentials/leafs', { username, password });
const record = async (path: string) => {
  const answer = await api.call('GET', path);
  return { ...answer, recording: answer.body as unknown as RecordingAnswer };
};

test('a switch is recorded by the commands that its driver reads with, and changed by none', async () => {
  const { status, recording } = await record('/v1/switches/LEAF1/recording');
  expect(status).toBe(200);
  expect(
    recording.outputs['show running-config | section ^interface|^monitor session|^vlan dot1q tag native|^end'],
  ).toContain('switchport access vlan 100');
  expect(recording.reading?.ports['GigabitEthernet1/0/1']).toBe(100);
  // the simulated switch has no version, and says so
  expect(recording.faults).toEqual([expect.stringMatching(/^show version: /), expect.stringMatching(/^show lldp /)]);
  expect(simulated.commands.filter((command) => !/^(enable|terminal|show) ?/.test(command))).toEqual([]);
});

test('what could not be recorded keeps no address of the switch either', () => {
  const recording = {
    outputs: { 'show version': 'address 203.0.113.7' },
    faults: ['show vlan: switch ssh:203.0.113.7: it went away', 'show lldp: password hunter2-Zq9'],
  };
  const { outputs, faults } = maskAnswers(recording, false);
  const [, address = 'none'] = /address (\S+)/.exec(outputs['show version'] ?? '') ?? [];
  expect(faults).toEqual([`show vlan: switch ssh:${address}: it went away`, 'show lldp: password ******']);
  expect(address).not.toBe('203.0.113.7');
  expect(maskAnswers(recording, true).faults[0]).toBe(recording.faults[0]);
});

test('a switch that is not listed, one that nobody asks commands, and a bad flag are refused in words', async () => {
  expect(await record('/v1/switches/leaf9/recording')).toMatchObject({
    status: 404,
    fault: 'switch leaf9 is not in the networks file; its switches are: leaf1, 00:11:22:33:44:55',
  });
  const ovs = await record('/v1/switches/00:11:22:33:44:55/recording');
  expect(ovs.fault).toBe('driver ovs of switch 00:11:22:33:44:55 asks no commands to be recorded');
  const { status, fault } = await record('/v1/switches/leaf1/recording?keep_identities=perhaps');
  expect({ status, fault }).toMatchObject({ status: 400, fault: expect.stringContaining('keep_identities') });
});

test('a node is recorded from its inventory, without what is its own and without secrets, and its history says so', async () => {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  expect((await record('/v1/nodes/n1/recording')).recording.faults).toContainEqual(
    'there is no inventory: inspect the node first',
  );
  const inventory = {
    interfaces: [{ name: 'eth0', mac_address: 'aa:bb:cc:00:00:01', ipv4_address: '10.1.2.3' }],
    disks: [{ name: '/dev/sda', serial: 'S4EVNF0M123456' }],
    system_vendor: { manufacturer: 'Dell Inc.', product_name: 'PowerEdge R640' },
  };
  const pluginData = { ipmi: { password: 'hunter22' } };
  await api.context.db.transaction((tx) => recordInspected(tx, { nodeUuid, inventory, pluginData }));
  const { recording } = await record('/v1/nodes/n1/recording');
  expect(recording.system).toBe('Dell Inc. PowerEdge R640 driver fake-hardware');
  expect(recording.faults).toEqual([
    expect.stringMatching(/^the machine's own texts .* brought none: inspect it again/),
    'driver fake-hardware has no answers of a BMC to record',
  ]);
  const all = JSON.stringify(recording);
  for (const own of ['aa:bb:cc:00:00:01', '10.1.2.3', 'S4EVNF0M123456', 'hunter22']) expect(all).not.toContain(own);
  const kept = await record('/v1/nodes/n1/recording?keep_identities=true');
  expect(kept.recording.outputs['inventory']).toContain('S4EVNF0M123456');
  expect(JSON.stringify(kept.recording)).not.toContain('hunter22');
  const { history } = (await api.call('GET', '/v1/nodes/n1/history')).body as { history: { event: string }[] };
  expect(history.map(({ event }) => event)).toContainEqual('recorded: 2 outputs, secrets masked');
});

async function runRecord(path: string, operand: string) {
  const printed: string[] = [];
  const noted: string[] = [];
  const command = recordCommand({ words: 'record', operand: 'IT', path, meaning: '', details: '' });
  const context = {
    client: { call: async (method: string, at: string) => (await api.call(method, at)).body },
    screen: { write: (text: string) => printed.push(text), isTerminal: false },
    notify: (line: string) => noted.push(line),
  };
  const input = { operands: [operand], values: {}, document: undefined };
  await command.run(context as unknown as Parameters<typeof command.run>[0], input);
  return { printed, noted };
}

test('the command prints it as test/recorded has it', async () => {
  const { printed, noted } = await runRecord('/v1/switches', 'leaf1');
  expect(printed.join('')).toMatch(
    /^# Made by baton\.[\s\S]*\nsource: ""\nseen: hardware\nsystem: ios-xe, .*\nshows: ""\noutputs:\n/,
  );
  expect(printed.join('')).toMatch(/\nreading:\n {2}ports:\n {4}GigabitEthernet1\/0\/1: 100\n/);
  expect(noted).toEqual([expect.stringContaining('not recorded: show version'), expect.any(String)]);
});

test('the command says what a node wants in its reading, and refuses a recording of nothing', async () => {
  const { printed } = await runRecord('/v1/nodes', 'n1');
  expect(printed.join('')).toMatch(/^# Made by baton\..*\n# and what would be right at reading\.\n/);
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' });
  await expect(runRecord('/v1/nodes', 'n2')).rejects.toThrow('nothing is recorded: there is no inventory: inspect');
});

test('ends', async () => {
  onTestFinished(() => simulated.stop());
  await expect(api.context.networks.close()).resolves.toBeUndefined();
});
