import { afterEach, expect, test } from 'vitest';
import type { EventsInterface } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const closing: (() => Promise<void> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function rig(): Promise<{ readonly events: EventsInterface; readonly simulator: RedfishSimulator }> {
  const machine = createMemoryMachine();
  const simulator = await startRedfishSimulator({ machine, username: 'admin', password: 'secret' });
  const type = redfishHardwareType({ run, log: silentLog }, { retryMs: 5 });
  closing.push(
    () => type.close?.(),
    () => simulator.close(),
  );
  const login = { redfish_username: 'admin', redfish_password: 'secret' };
  const { events } = type.connect({ redfish_address: simulator.address, ...login });
  if (!events) throw new AppError('internal', 'the driver has no events');
  return { events, simulator };
}

const destination = 'https://192.0.2.9/events';
const path = '/redfish/v1/EventService/Subscriptions';
const made = { id: '1', context: '', protocol: 'Redfish', destination, eventTypes: ['Alert'] };

test('a subscription is made, read, listed and ended', async () => {
  const { events } = await rig();
  expect(await events.subscribe({ destination })).toEqual(made);
  const headers = [{ Authorization: 'Basic hush' }];
  const wanted = { destination, context: 'rack 1', eventTypes: ['StatusChange'], httpHeaders: headers };
  expect(await events.subscribe(wanted)).toEqual({ ...made, id: '2', context: 'rack 1', eventTypes: ['StatusChange'] });
  expect(await events.list()).toEqual({ path, members: [`${path}/1`, `${path}/2`] });
  expect(await events.read('1')).toEqual(made);
  await events.unsubscribe('1');
  expect(await events.list()).toMatchObject({ members: [`${path}/2`] });
});

test('a BMC that names no new subscription has it found', async () => {
  const { events, simulator } = await rig();
  await events.subscribe({ destination });
  simulator.inject({ method: 'POST', path: /Subscriptions$/, status: 201, body: {}, times: 1 });
  await expect(events.subscribe({ destination })).rejects.toThrow('does not show the event subscription that it made');
});

test('of two that were made at a time each has its own', async () => {
  const { events, simulator } = await rig();
  const others = `${destination}/others`;
  simulator.inject({ method: 'POST', path: /Subscriptions$/, actsAs: 200, times: 2 });
  const both = await Promise.all([destination, others].map((each) => events.subscribe({ destination: each })));
  expect(both.map((each) => each.destination)).toEqual([destination, others]);
});

test('what the BMC does not have is named', async () => {
  const { events, simulator } = await rig();
  await expect(events.read('9')).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('9') });
  await expect(events.unsubscribe('9')).rejects.toMatchObject({ code: 'not_found' });
  await expect(events.subscribe({ destination, eventTypes: ['Alert', 'Odd'] })).rejects.toThrow(
    "EventTypes: 'Odd' is not one of StatusChange",
  );
  const body = { error: { code: 'x', message: 'No more subscriptions.' } };
  simulator.inject({ method: 'POST', path: /Subscriptions$/, status: 400, body, times: 1 });
  await expect(events.subscribe({ destination })).rejects.toMatchObject({
    message: expect.stringContaining('subscribe to events of the BMC at'),
    cause: { message: expect.stringContaining('No more subscriptions.') },
  });
  simulator.inject({ method: 'GET', path: /EventService$/, status: 200, body: { Id: 'EventService' }, times: 1 });
  await expect(events.list()).rejects.toMatchObject({ code: 'not_supported' });
});
