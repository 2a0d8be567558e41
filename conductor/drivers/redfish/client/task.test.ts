import { expect, test } from 'vitest';
import { createRigs, hastyClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';

const { rig } = createRigs();
const answers: readonly (readonly [string, Omit<Fault, 'path'>])[] = [
  ['500', { status: 500 }],
  ['503', { status: 503 }],
  ['400', { status: 400 }],
  ['a cut connection', { drop: true }],
  ['a page', { status: 200, body: '<html>starting</html>' }],
];

test.each(answers)('a task whose monitor answers with %s is at work until it says its end', async (_what, fault) => {
  const bmc = await rig({ clock: hastyClock, redfish: { retryMs: 1 }, quirks: { tasks: true, failTasks: true } });
  bmc.simulator.inject({ ...fault, method: 'GET', path: /TaskService/, times: 8 });
  const error = await bmc.management.setBootDevice('pxe', { persistent: false }).catch(errorChain);
  expect(error).toContain('The task failed on purpose.');
  expect(bmc.simulator.faultsLeft()).toBe(0);
  const polls = bmc.simulator.requests.filter(({ path }) => path.includes('/TaskService/'));
  expect(polls.length).toBeGreaterThan(8);
});

test("a monitor's query goes along", async () => {
  const bmc = await rig({ clock: hastyClock });
  const headers = { Location: '/redfish/v1/TaskService/Monitors/5?of=boot' };
  bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, actsAs: 202, headers });
  bmc.simulator.inject({ path: /Monitors\/5$/, body: { TaskState: 'Completed' } });
  await bmc.management.setBootDevice('pxe', { persistent: false });
  expect(bmc.simulator.requests.map(({ query }) => query)).toContain('?of=boot');
});

test.each([404, 410])(
  'a task that the BMC forgets (%i) has no known end where nothing else shows it',
  async (status) => {
    const bmc = await rig({ clock: hastyClock, quirks: { tasks: true } });
    bmc.simulator.inject({ method: 'GET', path: /TaskMonitors/, status, times: 9 });
    // its clock shows that it was set
    await bmc.management.setBmcClock?.(new Date());
    const error = await bmc.management.resetSecureBootKeys?.('none').catch(errorChain);
    expect(error).toContain('the BMC has forgotten its task');
  },
);
