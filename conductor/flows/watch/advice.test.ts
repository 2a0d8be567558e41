import { expect, test } from 'vitest';
import { type AdviceFacts, type AdviceStep, adviceFor, knownFault } from '#conductor/flows/watch/advice.ts';
import { faultAdvice } from '#conductor/flows/watch/fault-advice.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { BootEventName } from '#conductor/model/power-and-boot.ts';
import { legalVerbs, nextProvisionState } from '#conductor/model/provision-states.ts';
import { errorCodes } from '#shared/errors/app-error.ts';
import { type FaultCode, situations } from '#shared/errors/fault-codes.ts';

const step = (more: Partial<AdviceStep> = {}): AdviceStep => ({
  name: 'deploy.deploy',
  fault: null,
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
const failed = (code: FaultCode, more: Partial<AdviceFacts> & { readonly subject?: string } = {}) =>
  adviceFor(
    facts({
      state: 'failed',
      provisionState: 'deploy failed',
      step: step({ fault: { code, subject: more.subject }, name: 'deploy.write_image' }),
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
  const advice = failed('image_error', { kind, provisionState }) ?? '';
  const named = [...advice.matchAll(/`baton (\w+) n1`/g)].map(([, verb]) => verb);
  // what `manage` leads to allows the rest
  const verbs = named[0] === 'manage' ? ['manage'] : named;
  expect(verbs).not.toEqual([]);
  expect(legalVerbs(provisionState)).toEqual(expect.arrayContaining(verbs));
  expect(failed('image_error', { kind, provisionState: 'available' }), 'the node has moved on').toBeNull();
});

test('every code that can end or hold a step is in the table', () => {
  expect(Object.keys(faultAdvice).sort()).toEqual([...situations, ...errorCodes].sort());
});

test.each(Object.keys(faultAdvice) as FaultCode[])('a step that ended by %s has advice, in whole sentences', (code) => {
  const advice = faultAdvice[code]({ node: 'n1', isOver: true });
  expect(advice).toMatch(/^[A-Z`].*\.$/);
  expect(advice).not.toContain('NODE');
});

test('names the look that the cause deserves, the verbs, and the logs', () => {
  const end = 'Then `baton rebuild n1` tries again, `baton undeploy n1` gives the node back.';
  expect(failed('agent_reported', { hasLogs: true })).toBe(
    `The machine's own agent reports this, without a code: its logs (\`baton logs n1\`) and the machine's console say more. ${end} \`baton logs n1\` has the agent's logs.`,
  );
  expect(failed('ramdisk_silent')).toContain("look at the machine's console");
  expect(failed('other_ramdisk')).toContain('serve one ramdisk');
  expect(failed('agent_silent')).toContain('no longer answers');
  expect(failed('step_under_way')).toContain('BATON_STEP_TIMEOUT');
  expect(failed('image_checksum', { subject: 'http://images/a' })).toContain('Look at the image (http://images/a)');
  expect(failed('bmc_busy')).toContain('The BMC is the cause');
  expect(failed('switch_unreachable', { subject: 'leaf1' })).toContain("Switch leaf1 can't be reached");
  expect(failed('sensor_bad')).toContain('`baton sensors n1`');
});

test('the inventory says which disk is to be replaced, and why', () => {
  const disk = { name: '/dev/sda', serial: 'S4X', model: 'Ultrastar', passed: false, badSectors: 4096 };
  expect(failed('disk_failing', { subject: '/dev/sda', disk })).toContain(
    'The disk is failing (it says itself that it is failing, 4096 bad sectors): replace /dev/sda (Ultrastar, serial S4X).',
  );
  expect(failed('disk_failing', { subject: '/dev/sda' })).toContain('replace /dev/sda.');
});

test('a machine that never boots is compared with the last one of its model', () => {
  const modelBoot = { model: 'ACME 1', node: 'n7', at: '2026-11-01T00:00:00.000Z' };
  expect(failed('ramdisk_silent', { modelBoot })).toContain(
    "Another ACME 1 has booted this conductor's ramdisk before: n7 on 2026-11-01T00:00:00.000Z.",
  );
});

test('a power verb in the middle of a boot is named at once as what broke it', () => {
  const power = { event: 'power off by alice', at: '2026-11-01T00:00:00.000Z' };
  const waits = facts({ step: step({ fault: { code: 'ramdisk_silent' }, waitedMs: 1_000 }), power });
  expect(adviceFor(waits)).toBe(
    'The machine was switched amid the flow (power off by alice at 2026-11-01T00:00:00.000Z), which ended its boot: leave its power alone until the flow has ended.',
  );
  expect(failed('power_switched')).toContain('switched amid the flow');
});

test('a code of another release is not guessed', () => {
  expect(knownFault({ code: 'from_the_future' as FaultCode, subject: 'x' })).toEqual({ code: 'unknown', subject: 'x' });
  expect(knownFault(null)).toEqual({ code: 'unknown' });
  expect(failed('from_the_future' as FaultCode)).toContain('another release of Baton');
});

test('maintenance is left first, except for a teardown, which it does not stop', () => {
  const clean = failed('image_error', { kind: 'clean', provisionState: 'clean failed', inMaintenance: true });
  expect(clean).toContain('`baton maintenance off n1`. Then `baton manage n1` and `baton provide n1`');
  expect(failed('image_error', { kind: 'teardown', provisionState: 'error', inMaintenance: true })).not.toContain(
    'maintenance',
  );
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
        step: step({ fault: { code: 'ramdisk_silent' }, waitedMs }),
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
  const bios = step({ fault: { code: 'bmc_task' }, waitedMs: 1_000 });
  expect(adviceFor(facts({ step: bios, lastBoot: { event: 'refused', detail: refused } }))).toBeNull();
});

test('a wait is worth a word once it is long, a fault at once', () => {
  const waiting = (more: Partial<AdviceStep>) =>
    adviceFor(facts({ step: step({ fault: { code: 'ramdisk_silent' }, limitMs: 1_800_000, ...more }) }));
  expect(waiting({ waitedMs: 299_000 })).toBeNull();
  expect(waiting({ waitedMs: 301_000 })).toContain('DHCP');
  expect(waiting({ waitedMs: 31_000, limitMs: 60_000 })).toContain('DHCP');
  expect(waiting({ waitedMs: 301_000, limitMs: undefined })).toContain('DHCP');
  expect(waiting({ waitedMs: 1e9, limitMs: undefined, fault: { code: 'step_under_way' } })).toBeNull();
  const retry = { isRetry: true, fault: { code: 'bmc_busy' as const } };
  expect(waiting(retry)).toContain('The BMC is the cause');
});
