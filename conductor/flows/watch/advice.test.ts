import { expect, test } from 'vitest';
import { type AdviceFacts, type AdviceStep, adviceFor } from '#conductor/flows/watch/advice.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { BootEventName } from '#conductor/model/power-and-boot.ts';
import { legalVerbs, nextProvisionState } from '#conductor/model/provision-states.ts';

const step = (more: Partial<AdviceStep> = {}): AdviceStep => ({
  name: 'deploy.deploy',
  error: null,
  waitingFor: null,
  waitedMs: 0,
  limitMs: undefined,
  isRetry: false,
  ...more,
});
const facts = (more: Partial<AdviceFacts> = {}): AdviceFacts => ({
  node: 'n1',
  provisionState: 'wait call-back',
  inMaintenance: false,
  kind: 'deploy',
  state: 'waiting',
  held: null,
  onHold: null,
  abortRequested: null,
  step: undefined,
  hasLogs: false,
  ...more,
});
const failed = (error: string, more: Partial<AdviceFacts> = {}) =>
  adviceFor(
    facts({
      state: 'failed',
      provisionState: 'deploy failed',
      step: step({ error, name: 'deploy.write_image' }),
      ...more,
    }),
  );

const moving = (Object.keys(flowKinds) as FlowKindName[]).filter((kind) => !isBesideStates(flowKinds[kind]));

test.each(moving)('after a failed %s names verbs that are possible there', (kind) => {
  const { fail } = flowKinds[kind].events;
  const working = flowKinds[kind].during;
  if (!working) throw new Error(`nobody says where a ${kind} works`);
  const provisionState = fail ? nextProvisionState(working, fail) : working;
  if (!provisionState) throw new Error(`${working} knows no ${fail}`);
  const advice = failed('it broke', { kind, provisionState }) ?? '';
  const named = [...advice.matchAll(/`baton (\w+) n1`/g)].map(([, verb]) => verb);
  // what `manage` leads to allows the rest
  const verbs = named[0] === 'manage' ? ['manage'] : named;
  expect(verbs).not.toEqual([]);
  expect(legalVerbs(provisionState)).toEqual(expect.arrayContaining(verbs));
  expect(failed('it broke', { kind, provisionState: 'available' }), 'the node has moved on').toBeNull();
});

test('names the look that the cause deserves, the verbs, and the logs', () => {
  const end = 'Then `baton rebuild n1` tries again, `baton undeploy n1` gives the node back.';
  expect(failed('it broke', { hasLogs: true })).toBe(
    `Put right what the step says. ${end} \`baton logs n1\` has the agent's logs.`,
  );
  expect(failed('gave up waiting for first heartbeat of the ramdisk')).toContain("look at the machine's console");
  expect(failed('the agent came back with other hardware manager versions')).toContain('serve one ramdisk');
  expect(failed('the agent is lost (last heartbeat never)')).toContain('no longer answers');
  expect(failed('gave up waiting for the agent to finish write_image')).toContain('BATON_STEP_TIMEOUT');
  expect(failed('sha256 is aaaa, expected bbbb')).toContain('Look at the image');
  expect(failed('Redfish at 192.0.2.1: 503')).toContain('The BMC is the cause');
  const sensors = step({ error: 'the BMC says that CPU 1 Temp is warning', name: 'management.get_sensors' });
  expect(failed('', { step: sensors })).toContain('`baton sensors NODE`');
});

test('maintenance is left first, except for a teardown, which it does not stop', () => {
  const clean = failed('x', { kind: 'clean', provisionState: 'clean failed', inMaintenance: true });
  expect(clean).toContain('`baton maintenance off n1`. Then `baton manage n1` and `baton provide n1`');
  expect(failed('x', { kind: 'teardown', provisionState: 'error', inMaintenance: true })).not.toContain('maintenance');
});

test('an aborted flow has no cause to be put right', () => {
  const aborted = facts({ state: 'aborted', kind: 'service', provisionState: 'service failed' });
  expect(adviceFor(aborted)).toBe('`baton abort n1` brings the instance back, `baton service n1` tries again.');
});

test('what rests says whose word it waits for; what works says nothing', () => {
  expect(adviceFor(facts({ state: 'running' }))).toBeNull();
  expect(adviceFor(facts({ state: 'failing' }))).toBeNull();
  expect(adviceFor(facts({ held: 'node is in maintenance' }))).toContain('`baton maintenance off n1`');
  expect(adviceFor(facts({ onHold: 'a word' }))).toContain('`baton unhold n1`');
  expect(adviceFor(facts({ abortRequested: 'stopped', step: step() }))).toContain('deploy.deploy has ended');
});

test('a boot that stops says how far the machine got', () => {
  const after = (event: BootEventName, detail: string | null = null, waitedMs = 301_000) =>
    adviceFor(
      facts({
        step: step({ waitingFor: 'first heartbeat of the ramdisk', waitedMs }),
        lastBoot: { event, detail },
      }),
    );
  expect(after('dhcp', '10.1.0.50')).toContain('has fetched no boot script since');
  expect(after('dhcp', 'no address available')).toContain('got none (no address available): look at BATON_DHCP_RANGES');
  expect(after('script', 'ramdisk')).toContain("not the ramdisk's kernel");
  expect(after('script', 'local disk')).toContain('has it boot from its local disk');
  expect(after('kernel')).toContain('not its initrd');
  expect(after('initrd')).toContain('has loaded the ramdisk');
  expect(after('lookup')).toContain('its heartbeat has not arrived');
  const refused = 'heartbeat: TLS is required by configuration. Boot a ramdisk whose agent has TLS.';
  // at once: no patience mends it
  expect(after('refused', refused, 1_000)).toBe(`The conductor refuses the machine: ${refused}`);
  expect(after('lookup', null, 1_000)).toBeNull();
  // what waits for something else has its patience
  const bios = step({ waitingFor: 'the BMC to update bios', waitedMs: 1_000 });
  expect(adviceFor(facts({ step: bios, lastBoot: { event: 'refused', detail: refused } }))).toBeNull();
});

test('a wait is worth a word once it is long, a fault at once', () => {
  const waiting = (more: Partial<AdviceStep>) =>
    adviceFor(facts({ step: step({ waitingFor: 'first heartbeat of the ramdisk', limitMs: 1_800_000, ...more }) }));
  expect(waiting({ waitedMs: 299_000 })).toBeNull();
  expect(waiting({ waitedMs: 301_000 })).toContain('DHCP');
  expect(waiting({ waitedMs: 31_000, limitMs: 60_000 })).toContain('DHCP');
  expect(waiting({ waitedMs: 301_000, limitMs: undefined })).toContain('DHCP');
  expect(waiting({ waitedMs: 1e9, limitMs: undefined, waitingFor: 'the agent to finish erase_devices' })).toBeNull();
  const retry = { isRetry: true, waitingFor: 'another try after: POST http://bmc/redfish/v1: 503' };
  expect(waiting(retry)).toContain('The BMC is the cause');
});
