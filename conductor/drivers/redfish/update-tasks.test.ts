import { afterEach, expect, test } from 'vitest';
import type { FoundUpdate } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const closing: (() => Promise<void> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Looks for an update at a BMC with one task more than before, which was asked for there. */
async function findWith(target: string, { shown = '1.0.0', word = 'Running' } = {}): Promise<FoundUpdate | undefined> {
  const machine = createMemoryMachine();
  const bmc = await startRedfishSimulator({ machine, username: 'admin', password: 'secret' });
  const type = redfishHardwareType({ run, log: silentLog }, { retryMs: 5 });
  closing.push(
    () => type.close?.(),
    () => bmc.close(),
  );
  bmc.quirks.linkBase = 'http://10.9.9.9';
  const tasks = '/redfish/v1/TaskService/Tasks';
  bmc.inject({ path: /TaskService\/Tasks$/, body: { Members: [{ '@odata.id': `${tasks}/9` }] } });
  bmc.inject({ path: /Tasks\/9$/, body: { Id: '9', TaskState: word, Payload: { TargetUri: target } } });
  const login = { redfish_username: 'admin', redfish_password: 'secret' };
  const { firmware } = type.connect({ redfish_address: bmc.address, ...login });
  return firmware?.findUpdate('bmc', { version: shown, tasks: [] });
}

const own = '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate';

test('a task is the update where its request went to a place of updates, whatever host that names', async () => {
  expect(await findWith(own)).toMatchObject({ state: 'task' });
  expect(await findWith(`http://10.9.9.9${own}`)).toMatchObject({ state: 'task' });
});

test("one whose request went elsewhere is another's, also where the BMC lacks some of the places", async () => {
  expect(await findWith('/redfish/v1/Systems/1/Actions/ComputerSystem.Reset')).toMatchObject({ state: 'nothing' });
});

test('one whose request went to what is no link may be it while it runs, and is not taken for it', async () => {
  expect(await findWith('urn:dmtf:job:7')).toEqual({ state: 'at work' });
  expect(await findWith('urn:dmtf:job:7', { word: 'Completed' })).toEqual({ state: 'nothing', isShown: false });
});

test("that nothing has begun is shown by others' tasks only and the version of before", async () => {
  const reset = '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset';
  expect(await findWith(reset)).toEqual({ state: 'nothing', isShown: true });
  expect(await findWith(reset, { shown: '0.9.0' })).toEqual({ state: 'another version' });
});
