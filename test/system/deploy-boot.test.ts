import { createServer, type Server } from 'node:net';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { FlowView, PlanView } from '#conductor/api/flows.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { planService } from '#conductor/flows/plan/plan-cluster-steps.ts';
import { describeDeployBoot } from '#conductor/model/flows/step-note.ts';
import { findDeployBoot } from '#conductor/nodes/deploy-boot.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { startBeside } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { freePort } from '#test/support/free-port.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/** Deploys that end with kexec, in whole flows: a conductor, a Redfish BMC and a real agent over HTTP. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_KEXEC_TIMEOUT: '3600' } });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  conductor.atCheckpoints(() => 'go on');
  count += 1;
  const mac = `52:54:00:00:b7:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `kexec-${count}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await choose('kexec');
  return () => machine.close();
});

async function choose(value: string, document = 'instance_info'): Promise<void> {
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: `/${document}/deploy_boot`, value }]);
}

const onItsWay = 'the machine to be on its way by kexec, or to power itself off';
const goesThere = 'into which the running system has been told to go';

/**
 * Waits for the end of what is under way. Where the flow waits for a machine to have gone by kexec, the time for that ends
 * at once, the machine's before the conductor's: how long either takes to do something decides nothing.
 */
async function awaitActive(): Promise<void> {
  const { db } = conductor.context();
  const end = (field: string) =>
    db.execute(
      sql`update flow_steps set output = jsonb_set(output, array[${field}::text], '"1970-01-01T00:00:00.000Z"')
          where output ? ${field} and flow_uuid in
            (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where name = ${name} and ended_at is null)`,
    );
  await waitUntil(`${name} to rest`, async () => {
    const node = await operator.node(name);
    if (isAtRest(node)) return node;
    const words = JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
    if (words.includes(onItsWay)) {
      await machine.endParking();
      await end('parked_until');
    }
    if (words.includes(goesThere) && machine.faults.cooperates === 'deaf') await end('went_at');
    return undefined;
  });
  await operator.waitForState(name, 'active');
}

/** Deploys, and gives what operators read of the two steps that part with the ramdisk. */
async function deploy(target = 'active'): Promise<readonly (string | null | undefined)[]> {
  await operator.provision(name, target);
  await awaitActive();
  const flow = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as unknown as FlowView;
  return ['tear_down_agent', 'boot_instance'].map((name) => flow.steps.find(({ step }) => step === name)?.note);
}

const loaded = 'kexec: /vmlinuz of "Demo" is loaded';
const fellBack = 'a reboot in place of kexec: the machine was off, and so had not gone into its system by kexec';

test('the machine starts once, and is in its own system', async () => {
  const before = machine.boots();
  expect(await deploy()).toEqual([loaded, 'went on by kexec']);
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
  expect(machine.boots() - before).toBe(1);
  const view = await operator.node(name);
  expect(view).toMatchObject({ power_state: 'power on', last_error: null });
  expect(await findAgentSession(conductor.context().db, String(view['uuid']))).toBeUndefined();
});

test('the plan says so before, with a reboot less; a node may have it for all its deploys', async () => {
  const plan = async (): Promise<PlanView> =>
    (await operator.call('POST', `/v1/nodes/${name}/plan`, {})) as unknown as PlanView;
  const ofKexec = await plan();
  await choose('reboot');
  const ofReboot = await plan();
  const args = (view: PlanView) =>
    view.steps.filter(({ args: own }) => JSON.stringify(own) === '{"deploy_boot":"kexec"}').map(({ step }) => step);
  expect(args(ofKexec)).toEqual(['tear_down_agent', 'boot_instance']);
  expect([args(ofReboot), ofReboot.reboots - ofKexec.reboots, ofReboot.hash === ofKexec.hash]).toEqual([[], 1, false]);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'remove', path: '/instance_info/deploy_boot' }]);
  await choose('kexec', 'driver_info');
  expect(args(await plan())).toEqual(args(ofKexec));
});

test('where the agent refuses it the reason stands in the flow, and the machine is rebooted', async () => {
  machine.faults.noKexec = 'the boot configuration is not understood: a pipe';
  const before = machine.boots();
  const [tornDown] = await deploy();
  expect(tornDown).toMatch(/^a reboot in place of kexec: .*is not understood: a pipe$/);
  expect([machine.state().runs, machine.boots() - before]).toEqual(['instance', 2]);
});

test('a machine that takes no notice of its button powers itself off, and is switched on', async () => {
  machine.faults.deafButton = true;
  const before = machine.boots();
  expect(await deploy()).toEqual([loaded, fellBack]);
  expect([machine.state().runs, machine.boots() - before]).toEqual(['instance', 2]);
});

test('a button that the BMC refuses to press, too', async () => {
  machine.bmc.quirks.resetTypes = ['On', 'ForceOff'];
  expect(await deploy()).toEqual([loaded, fellBack]);
  expect(machine.state().runs).toBe('instance');
});

describe('a running system that is to go into the ramdisk by kexec', () => {
  const rebuild = async () => {
    const before = machine.boots();
    await operator.provision(name, 'rebuild');
    await awaitActive();
    const flow = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as unknown as FlowView;
    return [flow.steps.find(({ step }) => step === 'deploy')?.note, machine.boots() - before];
  };
  beforeEach(async () => {
    await choose('reboot');
    await deploy();
    await operator.call('PATCH', `/v1/nodes/${name}`, [
      { op: 'add', path: '/driver_info/ramdisk_boot', value: 'kexec' },
    ]);
  });

  test('does so where it cooperates: the firmware starts for the written system alone', async () => {
    machine.faults.cooperates = 'yes';
    const lookups = async () => {
      const { history } = await operator.call('GET', `/v1/nodes/${name}/history`);
      return (history as { event: string }[]).filter(({ event }) => event === 'ramdisk has looked itself up').length;
    };
    const before = await lookups();
    expect(await rebuild()).toEqual(['by kexec from the running system', 1]);
    expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
    // it has the token that the system loaded with it, and was given no other
    expect(await lookups()).toBe(before);
  });

  test.each([
    ['shuts down', undefined, /^not by kexec: the running system has shut down$/],
    ['loads it, and does not go', 'deaf', /^not by kexec: the ramdisk has not called in$/],
  ] as const)('starts through the firmware where it %s', async (_how, cooperates, note) => {
    if (cooperates) machine.faults.cooperates = cooperates;
    expect(await rebuild()).toEqual([expect.stringMatching(note), 2]);
  });

  test('whenever the conductor dies, it ends with the machine in its own system', async () => {
    machine.faults.cooperates = 'yes';
    await conductor.dieAtEach({
      act: async () => {
        await operator.provision(name, 'rebuild').catch(() => undefined);
        await awaitActive();
      },
      check: async (checkpoint) => {
        expect([checkpoint, machine.state()]).toEqual([checkpoint, { power: 'on', runs: 'instance' }]);
        await Promise.resolve();
      },
    });
  });
});

describe('an instance that its documents have waited for, after kexec', () => {
  let port: number;
  let answers: Server | undefined;
  /** Enters service as its documents have it, and after a deploy that its site asked for. */
  const enterService = async () => {
    const times = { timeout: 1, every: 1 };
    const all = [{ by: 'tcp', target: `127.0.0.1:${port}` }] as const;
    const [restart] = planService({ node: name, byKexec: true, answers: { all, inKubernetes: false, ...times } });
    if (restart?.step !== 'restart_if_silent') throw new Error('the step is not planned');
    const row = await getNode(conductor.context().db, name);
    const caller = { user: 'tester', project: undefined, via: 'test' };
    await startBeside(conductor.context(), row, { kind: 'enter_service', steps: [restart], caller });
  };
  const ended = async () => {
    const { uuid } = await getNode(conductor.context().db, name);
    await expect.poll(() => findOpenFlow(conductor.context().db, uuid)).toBeUndefined();
  };
  const notes = async () => {
    const { uuid } = await getNode(conductor.context().db, name);
    return describeDeployBoot((await findDeployBoot(conductor.context().db, uuid))?.output);
  };
  beforeEach(async () => {
    port = await freePort();
    answers = undefined;
    await deploy();
    return () => answers?.close();
  });

  test('is left alone where it answers', async () => {
    answers = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
    const before = machine.boots();
    await enterService();
    await ended();
    expect([machine.boots() - before, await notes()]).toEqual([0, 'went on by kexec']);
  });

  test('is restarted once where it hangs, whenever the conductor dies; auto is a reboot from then on', async () => {
    let before = 0;
    const deaths = await conductor.dieAtEach({
      prepare: async () => {
        await choose('kexec');
        await deploy('rebuild');
        expect(await notes()).toBe('went on by kexec');
        before = machine.boots();
      },
      act: async () => {
        await enterService();
        await ended();
      },
      check: async (checkpoint) => {
        expect([checkpoint, machine.state()]).toEqual([checkpoint, { power: 'on', runs: 'instance' }]);
        expect([checkpoint, machine.boots() - before]).toEqual([checkpoint, 1]);
        expect(await notes()).toMatch(/^a reboot in place of kexec: its instance did not answer within 1 s of kexec/);
      },
    });
    expect(deaths).toBeGreaterThan(2);
    await choose('auto');
    const [tornDown] = await deploy('rebuild');
    expect(tornDown).toBeNull();
  });
});

test('a conductor that dies at any checkpoint ends with the machine in its own system', async () => {
  conductor.atCheckpoints(() => 'go on');
  await deploy();
  // those before are the same in every deploy
  for (let checkpoint = conductor.passed() - 12, struck = true; struck; checkpoint += 1) {
    struck = false;
    conductor.atCheckpoints((_, passed) => {
      if (passed !== checkpoint) return 'go on';
      struck = true;
      return 'die';
    });
    const [, booted] = await deploy('rebuild');
    conductor.atCheckpoints(() => 'go on');
    await conductor.reborn();
    expect([checkpoint, machine.state(), booted]).toMatchObject([
      checkpoint,
      { power: 'on', runs: 'instance' },
      expect.stringMatching(/^(went on by kexec|a reboot in place of kexec: .*)$/) as string,
    ]);
  }
  expect(conductor.deaths()).toBeGreaterThanOrEqual(5);
});

test('auto is kexec where the last machine of its model has gone so; a trait is as good as the word', async () => {
  const reasons = async (): Promise<readonly string[]> => {
    const plan = (await operator.call('POST', `/v1/nodes/${name}/plan`, {})) as unknown as PlanView;
    return plan.steps.filter(({ step }) => step === 'boot_instance').map(({ reason }) => reason);
  };
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'inspect');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await choose('auto');
  expect(await reasons()).toEqual([
    expect.stringMatching(/is auto, a reboot here: no .* has been deployed by kexec yet$/),
  ]);
  expect((await deploy())[1]).toBeNull();
  await choose('kexec');
  machine.faults.deafButton = true;
  expect(await deploy('rebuild')).toEqual([loaded, fellBack]);
  await choose('auto');
  expect(await reasons()).toEqual([expect.stringMatching(/is auto, a reboot here: the last .*: a reboot in place/)]);
  machine.faults.deafButton = false;
  await choose('kexec');
  await deploy('rebuild');
  await choose('auto');
  expect(await deploy('rebuild')).toEqual([loaded, 'went on by kexec']);
  await operator.call('PUT', `/v1/nodes/${name}/traits/CUSTOM_DEPLOY_BOOT_KEXEC`);
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'remove', path: '/instance_info/deploy_boot' },
    { op: 'add', path: '/instance_info/traits', value: ['CUSTOM_DEPLOY_BOOT_KEXEC'] },
  ]);
  expect(await reasons()).toEqual([expect.stringMatching(/deploy_boot is kexec$/)]);
});

test('another value is refused', async () => {
  const fault = ': it must be reboot, kexec or auto';
  await expect(choose('maybe')).rejects.toThrow(`instance_info.deploy_boot${fault}`);
  await expect(choose('maybe', 'driver_info')).rejects.toThrow(`driver_info.deploy_boot${fault}`);
});
