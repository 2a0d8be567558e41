import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentDependencies, runAgent } from '#agent/agent.ts';
import { readAgentConfig } from '#agent/config.ts';
import type { AgentContext } from '#agent/context.ts';
import {
  type FakeConductor,
  fakeNodeUuid,
  fakeToken,
  ironicFault,
  startFakeConductor,
} from '#agent/testing/fake-conductor.ts';
import { fakeHardware, ranWell } from '#agent/testing/fake-services.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, start } from '#shared/process/run.ts';
import { defineStep } from '#shared/steps/define-step.ts';
import { CommandList, CommandResult, Heartbeat } from '#shared/wire/agent-calls.ts';
import { ProgressReport } from '#shared/wire/progress.ts';

const baton = { config: { baton: { progress_interval_ms: 20 } } };
const secondToken = 's'.repeat(43);

/** A ramdisk without programs. */
const ramdisk: Omit<AgentDependencies, 'hardwareManagers' | 'signal'> = {
  run: (command) => Promise.reject(new AppError('command_failed', `${command} could not be started`)),
  clock: systemClock,
  random: () => 0,
  log: silentLog,
  say: () => undefined,
  recentLog: () => '',
};

/** A step that ends when the test says so. */
function gatedStep() {
  const gate = Promise.withResolvers<unknown>();
  const step = defineStep<AgentContext, unknown>({
    interface: 'deploy',
    step: 'gated',
    priorities: { deploy: 50, clean: 50, service: 50 },
    destroys: 'none',
    description: 'test',
    args: z.unknown(),
    run: async (context) => {
      context.reportProgress({ phase: 'waiting', done_bytes: 1 });
      return { kind: 'done', output: await gate.promise };
    },
  });
  return { gate, step };
}

describe('the whole agent', () => {
  let stateDir: string;
  let conductor: FakeConductor;
  const cleanups: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'baton-agent-'));
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    await rm(stateDir, { recursive: true });
  });

  const startConductor = async (options: Parameters<typeof startFakeConductor>[0]): Promise<void> => {
    conductor = await startFakeConductor(options);
    cleanups.push(() => conductor.close());
  };

  const startAgent = (overrides: Partial<AgentDependencies> = {}) => {
    const stop = new AbortController();
    const said: string[] = [];
    const { gate, step } = gatedStep();
    const config = readAgentConfig(`ipa-api-url=${conductor.url} ipa-listen-host=127.0.0.1 ipa-listen-port=0`, {
      BATON_AGENT_ADDRESSES: '52:54:00:00:00:01',
      BATON_AGENT_STATE_DIR: stateDir,
    });
    const running = runAgent(config, {
      ...ramdisk,
      say: (line) => said.push(line),
      hardwareManagers: [fakeHardware([step]).manager],
      signal: stop.signal,
      ...overrides,
    });
    const end = async (): Promise<void> => {
      stop.abort(new Error('test ended'));
      await running;
    };
    cleanups.push(end);
    return { gate, said, end, running };
  };

  /** A client that trusts nothing but the certificate of the heartbeat, as the conductor does. */
  const pinnedClient = async (beats = 1) => {
    const seen = (await conductor.requests(/heartbeat/, beats)).at(-1);
    const beat = Heartbeat.parse(seen?.body);
    const dispatcher = new Agent({ connect: { ca: beat.agent_verify_ca ?? '', minVersion: 'TLSv1.3' } });
    cleanups.push(() => dispatcher.destroy());
    const call = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> => {
      const url = new URL(path, beat.callback_url);
      url.searchParams.set('agent_token', beat.agent_token ?? '');
      const answer = await request(url, {
        method,
        dispatcher,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return answer.body.json();
    };
    return { beat, call };
  };

  const execute = {
    name: 'deploy.execute_deploy_step',
    params: { step: { interface: 'deploy', step: 'gated', baton_command_id: 'flow-step-1' } },
  };

  test('looks up, announces a certificate, and answers over TLS pinned to it', async () => {
    await startConductor({});
    const { said } = startAgent();
    const { beat, call } = await pinnedClient();
    expect(beat.agent_token).toBe(fakeToken);
    expect(beat.callback_url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(new X509Certificate(beat.agent_verify_ca ?? '').subjectAltName).toBe('IP Address:127.0.0.1');
    expect(await call('GET', '/v1/commands/')).toEqual({ commands: [] });
    expect(said.join('\n')).toMatch(/looking up .*this machine is node .*listening on https:/s);
    const unpinned = new Agent();
    await expect(request(`${beat.callback_url}/`, { dispatcher: unpinned })).rejects.toThrow(/certificate/);
    await unpinned.destroy();
  });

  test('Baton: runs a step once, reports progress, and beats at once when it ends', async () => {
    await startConductor(baton);
    // reports have their interval; a beat that is due later, be it after Ironic's five seconds, never comes
    const sleep: Clock['sleep'] = (ms, signal) => systemClock.sleep(ms < 1000 ? ms : 2 ** 31 - 1, signal);
    const { gate, said } = startAgent({ clock: { ...systemClock, sleep } });
    const { call } = await pinnedClient();
    const started = CommandResult.parse(await call('POST', '/v1/commands/', execute));
    expect(started).toMatchObject({ id: 'flow-step-1', command_status: 'RUNNING' });
    const [report] = await conductor.requests(/progress/, 1);
    expect(report?.path).toBe(`/v1/progress/${fakeNodeUuid}`);
    expect(ProgressReport.parse(report?.body)).toEqual({
      agent_token: fakeToken,
      command_id: 'flow-step-1',
      progress: { phase: 'waiting', done_bytes: 1 },
    });
    expect(await call('POST', '/v1/commands/', execute)).toEqual(started);

    gate.resolve('fine');
    await conductor.requests(/heartbeat/, 2);
    const list = CommandList.parse(await call('GET', '/v1/commands/'));
    expect(list.commands).toMatchObject([
      { id: 'flow-step-1', command_status: 'SUCCEEDED', command_result: { deploy_result: 'fine' } },
    ]);
    expect(said.join('\n')).toMatch(/deploy step deploy.gated started.*deploy step deploy.gated ended after/s);
  });

  test('what a step has started is gone when the agent has stopped', async () => {
    await startConductor({});
    const pid = Promise.withResolvers<number>();
    const step = defineStep<AgentContext, unknown>({
      interface: 'deploy',
      step: 'gated',
      priorities: { deploy: 50, clean: 50, service: 50 },
      destroys: 'none',
      description: 'test',
      args: z.unknown(),
      run: async (context) => {
        await context.run('sleep', ['600']); // a step that gives no signal of its own
        return { kind: 'done' };
      },
    });
    const run: Run = async (command, args, options = {}) => {
      const child = start(command, args, options.signal ? { signal: options.signal } : {});
      pid.resolve(child.pid);
      return { ...ranWell(), exitCode: await child.exited };
    };
    const { end } = startAgent({ run, hardwareManagers: [fakeHardware([step]).manager] });
    const { call } = await pinnedClient();
    await call('POST', '/v1/commands/', execute);
    const child = await pid.promise;
    expect(() => process.kill(child, 0)).not.toThrow();
    await end();
    expect(() => process.kill(child, 0)).toThrow('ESRCH');
  });

  test('Ironic: sends no progress, and does not beat at once when a command ends', async () => {
    await startConductor({});
    const { gate } = startAgent();
    const { call } = await pinnedClient();
    await call('POST', '/v1/commands/', execute);
    gate.resolve('fine');
    expect(await call('GET', '/v1/commands/flow-step-1?wait=true')).toMatchObject({ command_status: 'SUCCEEDED' });
    expect(conductor.seen.map(({ path }) => path.split('/')[2])).toEqual([undefined, 'lookup', 'heartbeat']);
  });

  test('a process started again in the same boot keeps token and certificate', async () => {
    await startConductor({});
    const first = startAgent();
    const { beat: before } = await pinnedClient();
    await first.end();
    const masked = { node: { uuid: fakeNodeUuid }, config: { heartbeat_timeout: 300, agent_token: '******' } };
    conductor.answerNext(/lookup/, { status: 200, body: masked });
    startAgent();
    const { beat: after, call } = await pinnedClient(2);
    expect(after.agent_token).toBe(fakeToken);
    expect(after.agent_verify_ca).toBe(before.agent_verify_ca);
    expect(await call('GET', '/v1/commands/')).toEqual({ commands: [] });
  });

  test('Baton: a refused token is looked up afresh', async () => {
    await startConductor(baton);
    conductor.answerNext(/heartbeat/, ironicFault(400, 'Invalid or missing agent token received.'));
    conductor.answerNext(
      /lookup/,
      {
        status: 200,
        body: {
          node: { uuid: fakeNodeUuid },
          config: { heartbeat_timeout: 300, agent_token: fakeToken, ...baton.config },
        },
      },
      {
        status: 200,
        body: {
          node: { uuid: fakeNodeUuid },
          config: { heartbeat_timeout: 300, agent_token: secondToken, ...baton.config },
        },
      },
    );
    const { said } = startAgent();
    const { beat, call } = await pinnedClient(2);
    expect(beat.agent_token).toBe(secondToken);
    expect(await call('GET', '/v1/commands/')).toEqual({ commands: [] });
    expect(said.join('\n')).toContain('agent token received.; looking up afresh');
  });

  test('reports the machine before it looks itself up, and has nothing more to do without an API', async () => {
    await startConductor({});
    const callback = `${conductor.url}/v1/continue_inspection`;
    const inventory = {
      read: () => Promise.reject(new AppError('internal', 'none')),
      heardLldp: () => Promise.resolve({ interfaces: [] }),
      close: () => Promise.resolve(),
    };
    const agentWith = (commandLine: string) => {
      const stop = new AbortController();
      const running = runAgent(
        readAgentConfig(`${commandLine} ipa-inspection-callback-url=${callback} ipa-listen-port=0`, {
          BATON_AGENT_ADDRESSES: '52:54:00:00:00:01',
          BATON_AGENT_STATE_DIR: stateDir,
          BATON_AGENT_LISTEN_HOST: '127.0.0.1',
        }),
        {
          ...ramdisk,
          hardwareManagers: [fakeHardware([]).manager],
          openInventory: () => inventory,
          signal: stop.signal,
        },
      );
      cleanups.push(async () => {
        stop.abort(new Error('test ended'));
        await running;
      });
    };
    agentWith('');
    await conductor.requests(/continue_inspection/, 1);
    agentWith(`ipa-api-url=${conductor.url}`);
    await conductor.requests(/heartbeat/, 1);
    expect(conductor.seen.map(({ path }) => path)).toEqual([
      '/v1/continue_inspection',
      '/v1/continue_inspection',
      '/',
      '/v1/lookup',
      `/v1/heartbeat/${fakeNodeUuid}`,
    ]);
  });

  test('an old API gets plain http and no certificate', async () => {
    await startConductor({ version: '1.62' });
    startAgent();
    const [seen] = await conductor.requests(/heartbeat/, 1);
    expect(seen?.body).toMatchObject({ callback_url: expect.stringMatching(/^http:\/\/127/) as unknown });
    expect(seen?.body).not.toHaveProperty('agent_verify_ca');
  });

  test('a port that is taken ends the agent with the reason', async () => {
    await startConductor({});
    const port = new URL(conductor.url).port;
    const config = readAgentConfig(`ipa-api-url=${conductor.url} ipa-listen-host=127.0.0.1 ipa-listen-port=${port}`, {
      BATON_AGENT_ADDRESSES: '52:54:00:00:00:01',
      BATON_AGENT_STATE_DIR: stateDir,
    });
    await expect(
      runAgent(config, {
        ...ramdisk,
        hardwareManagers: [fakeHardware([]).manager],
        signal: new AbortController().signal,
      }),
    ).rejects.toThrow(`listen on 127.0.0.1 port ${port}`);
  });
});
