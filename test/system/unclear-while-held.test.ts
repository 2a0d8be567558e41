import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/** A BMC that answers what says nothing of the work that it has accepted: power stays as it is. */

let conductor: ConductorInProcess;
let operator: Operator;
const machines: SimulatedNode[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_CALLBACK_TIMEOUT: '600', BATON_RETRY_TIMEOUT: '12' },
    drivers: { redfish: { retryMs: 2 } },
  });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  for (const machine of machines) await machine.close();
});

async function manageable(name: string, mac: string): Promise<SimulatedNode> {
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  machines.push(machine);
  await enrolSimulatedNode(operator, machine, name);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  return machine;
}

const clean = (name: string, step: object) =>
  operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
const resetsOf = ({ bmc }: SimulatedNode) => bmc.requests.filter(({ path }) => path.endsWith('/ComputerSystem.Reset'));
const says = (name: string, words: string) =>
  waitUntil(words, async () => {
    const flow = JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
    return flow.includes(words) || undefined;
  });

test.each([
  ['a BMC that is not all there', 404, 2],
  ['a BMC that fails', 500, 6],
  ['a BMC that knows nobody', 401, 4],
])('%s ends no BIOS settings that the firmware is at', async (what, status, times) => {
  const name = `bios-${status}`;
  const machine = await manageable(name, `52:54:00:00:bb:${String(status).slice(1)}`);
  machine.bmc.quirks.biosKeeps = ['NumCores'];
  const settings = [{ name: 'NumCores', value: 4 }];
  await clean(name, { interface: 'bios', step: 'apply_configuration', args: { settings } });
  await says(name, 'the firmware to take');
  const before = resetsOf(machine).length;
  machine.bmc.inject({ method: 'GET', path: /\/Bios$/, status, times });
  await waitUntil(`${what} to be itself again`, () => Promise.resolve(machine.bmc.faultsLeft() === 0 || undefined));
  await says(name, 'the firmware to take');
  expect(resetsOf(machine)).toHaveLength(before);
  const { provision_state } = await operator.call('GET', `/v1/nodes/${name}`);
  expect(provision_state).toMatch(/^clean(ing| wait)$/);
});

// a web server that starts leads every path to the root
test.each([
  ['apply_configuration', { settings: [{ name: 'NumCores', value: 4 }] }, /^PATCH .*Settings$/],
  ['factory_reset', undefined, /^POST .*ResetBios$/],
])(
  'bios.%s, taken by a BMC that shows no BIOS any more: what waits for a reset may be under way',
  async (step, args, after) => {
    const name = `lost-${step.replaceAll('_', '-')}`;
    const machine = await manageable(name, `52:54:00:00:be:${machines.length.toString(16).padStart(2, '0')}`);
    const headers = { Location: '/redfish/v1/' };
    machine.bmc.inject({ method: 'GET', path: /./, status: 302, headers, times: Infinity, after });
    await clean(name, { interface: 'bios', step, ...(args && { args }) });
    await says(name, 'gave up waiting for another try after: GET');
    const { driver_internal_info } = await operator.call('GET', `/v1/nodes/${name}`);
    expect(driver_internal_info).toMatchObject({ baton_power_hold: { reason: `bios.${step} may be under way` } });
  },
);

test.each([
  [202, {}],
  [200, { '@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.Success' }] }],
  [204, undefined],
])('an update that is taken with %i and no task is at work still', async (status, body) => {
  const name = `taskless-${status}`;
  const machine = await manageable(name, `52:54:00:00:bc:${String(status).slice(1)}`);
  const before = resetsOf(machine).length;
  machine.bmc.inject({ method: 'POST', path: /SimpleUpdate$/, status, body });
  const settings = [{ component: 'bios', url: 'http://192.0.2.7/bios-9.9.9.bin' }];
  await clean(name, { interface: 'firmware', step: 'update', args: { settings } });
  await says(name, 'names no task for the update of bios');
  expect(resetsOf(machine)).toHaveLength(before);
});

/** Answers that a BMC may give while it starts. */
const members = (...Members: readonly object[]) => ({ Members, 'Members@odata.count': Members.length });

test.each([
  ['with a page', '<html><body>Please wait</body></html>', /\/Storage$/],
  ['with nothing', '', /\/Storage$/],
  ['that it has no controllers', members(), /\/Storage$/],
  ['that it has more than it shows', { ...members(), 'Members@odata.count': 1 }, /\/Storage$/],
  ['that its controller has no drives', { Id: 'RAID.Integrated.1-1' }, /RAID\.Integrated\.1-1$/],
] as const)(
  'a conductor that died amid volumes, and a BMC that answers %s: they may be under way',
  async (_how, body, path) => {
    const count = machines.length;
    const name = `amid-volumes-${count}`;
    const machine = await manageable(name, `52:54:00:00:bd:${count.toString(16).padStart(2, '0')}`);
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(machine.bmc.quirks, { volumeApplyTimes: ['Immediate'], volumesMadeAfter: promise });
    await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks: [{ size_gb: 100, raid_level: '1' }] });
    await clean(name, { interface: 'raid', step: 'create_configuration' });
    await waitUntil('the controller to be at it', () => {
      const isAsked = ({ method, path: at }: { method: string; path: string }) =>
        method === 'POST' && at.endsWith('/Volumes');
      return machine.bmc.requests.some(isAsked) || undefined;
    });
    const before = resetsOf(machine).length;
    machine.bmc.inject({ method: 'GET', path, status: 200, body, times: Infinity });
    await killConductor();
    await says(name, 'another try after');
    expect(resetsOf(machine)).toHaveLength(before);
    machine.bmc.clearFaults();
    resolve();
    await waitUntil(`${name} to rest`, async () => isAtRest(await operator.node(name)) || undefined);
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  },
);

/** At its next checkpoint, which is another node's. */
async function killConductor(): Promise<void> {
  const { uuid } = await operator.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  const before = conductor.deaths();
  conductor.atCheckpoints(() => (conductor.deaths() === before ? 'die' : 'go on'));
  await operator.provision(String(uuid), 'manage');
  await waitUntil('the conductor to die', () => conductor.deaths() > before || undefined);
  conductor.atCheckpoints(() => 'go on');
  await conductor.reborn();
}
