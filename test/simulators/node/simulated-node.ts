import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { runAgent } from '#agent/agent.ts';
import { readAgentConfig } from '#agent/config.ts';
import type { OpenTerminal } from '#agent/console/terminal.ts';
import type { AgentContext } from '#agent/context.ts';
import { type HardwareManager, hardwareSupport, type OfferedStep } from '#agent/hardware/hardware-manager.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Log, silentLog } from '#shared/log.ts';
import { type Run, run } from '#shared/process/run.ts';
import { defineStep, type StepOutcome } from '#shared/steps/define-step.ts';
import { type AgentFaults, createAgentFaults, startAgentProxy } from '#test/simulators/node/agent-proxy.ts';
import {
  type SimulatedDisk,
  type SimulatedSwitchPort,
  simulatedInventory,
} from '#test/simulators/node/simulated-inventory.ts';
import {
  createMemoryMachine,
  type SimulatedMachine,
  type SimulatedPowerAction,
} from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { freePort } from '#test/support/free-port.ts';

/** What a test may make go wrong. */
export interface NodeFaults {
  /** Step name → the error that it ends with; taken away once it has struck when `once`. */
  failStep?: { readonly step: string; readonly message: string; readonly once?: boolean };
  /** The agent's process dies when it begins this step (once, unless `diesAgain`), and init starts it again. */
  dieInStep?: string;
  diesAgain?: boolean;
  /** The version that the hardware manager then has. */
  comesBackAs?: string | (() => string);
  /** This step takes so long (ms) in place of `stepMs`. */
  slowStep?: { readonly step: string; readonly ms: number };
  /** The version of the hardware manager from the next start of the agent on; default 1. */
  hardwareVersion?: string;
  /** Why the agent can't tell what the machine is made of. */
  noInventory?: string;
  /** The ramdisk never comes up. */
  bootsNothing?: boolean;
}

/** A server as the conductor sees it: a Redfish BMC, and the real agent with simulated disks when it boots by PXE. */
export interface SimulatedNode {
  readonly mac: string;
  readonly bmc: RedfishSimulator;
  readonly driverInfo: Record<string, unknown>;
  readonly faults: NodeFaults;
  /** What is answered in the agent's place; needs `plainHttp`. */
  readonly agentFaults: AgentFaults;
  /** `on` or `off`, and what the machine runs: the ramdisk, its own system, or nothing. */
  state(): { readonly power: 'on' | 'off'; readonly runs: 'ramdisk' | 'instance' | 'nothing' };
  /** How often it has been powered on or reset. */
  boots(): number;
  /** The agent's process ends and init does not start it again; the machine stays on. */
  stopAgent(): Promise<void>;
  /** What in-band steps did to the disk, in order: `write_image demo.raw`. */
  readonly disk: readonly string[];
  /** When in-band steps ran in the agent, in order; milliseconds of `performance.now()`. */
  readonly stepTimes: readonly StepTime[];
  close(): Promise<void>;
}

export interface StepTime {
  readonly step: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface SimulatedNodeOptions {
  readonly conductorUrl: () => string;
  readonly mac: string;
  /** How long an in-band step takes; default 5. */
  readonly stepMs?: number;
  /** In-band deploy steps beside write_image, name → priority. */
  readonly deploySteps?: Readonly<Record<string, number>>;
  /** In-band clean and service steps; default one clean step, `erase_devices_metadata`. */
  readonly cleanSteps?: readonly SimulatedStep[];
  readonly serviceSteps?: readonly SimulatedStep[];
  /** The ramdisk's shell; without one the agent has no console. */
  readonly openTerminal?: OpenTerminal;
  /** What its switch says; without it nothing is heard. */
  readonly switchPort?: SimulatedSwitchPort;
  /** Beside `/dev/sda`, which has 100 GiB and an old system on it. */
  readonly moreDisks?: readonly SimulatedDisk[];
  /** The ramdisk reports the machine by itself, as one does that is booted for an inspection. */
  readonly inspects?: boolean;
  /** The agent serves without TLS, through a proxy that `agentFaults` are put into. */
  readonly plainHttp?: boolean;
  readonly log?: Log;
}

export interface SimulatedStep {
  readonly step: string;
  /** Default 0. */
  readonly priority?: number;
  readonly abortable?: boolean;
  readonly rebootRequested?: boolean;
}

interface StepRecord {
  readonly disk: string[];
  readonly stepTimes: StepTime[];
}

const standardSteps = { prepare_disks: 90, tune_image: 70 };
const credentials = { username: 'admin', password: 'simulated' };

export async function startSimulatedNode(options: SimulatedNodeOptions): Promise<SimulatedNode> {
  const faults: NodeFaults = {};
  const agentFaults = createAgentFaults();
  const record: StepRecord = { disk: [], stepTimes: [] };
  const boot = createBoot(options, { faults, agentFaults }, record);
  const machine = bootingMachine(boot);
  const bmc = await startRedfishSimulator({ machine, ...credentials });
  return {
    mac: options.mac,
    bmc,
    driverInfo: {
      redfish_address: bmc.address,
      redfish_username: credentials.username,
      redfish_password: credentials.password,
    },
    faults,
    agentFaults,
    state: () => ({ power: boot.power(), runs: boot.runs() }),
    boots: () => boot.count(),
    stopAgent: () => boot.stopAgent(),
    ...record,
    close: async () => {
      await boot.stop();
      await bmc.close();
    },
  };
}

interface Boot {
  count(): number;
  stopAgent(): Promise<void>;
  start(fromNetwork: boolean): void;
  stop(): Promise<void>;
  power(): 'on' | 'off';
  runs(): 'ramdisk' | 'instance' | 'nothing';
}

/** Power and boot order of a machine in memory, with a boot behind them. */
function bootingMachine(boot: Boot): SimulatedMachine {
  const memory = createMemoryMachine();
  return {
    ...memory,
    setPower: async (action: SimulatedPowerAction) => {
      const fromNetwork = (await memory.getBoot()).device === 'pxe';
      const wasOn = (await memory.getPower()) === 'on';
      await memory.setPower(action);
      if (action !== 'on' || !wasOn) await boot.stop();
      if (action === 'reset' || (action === 'on' && !wasOn)) boot.start(fromNetwork);
    },
  };
}

interface Faults {
  readonly faults: NodeFaults;
  readonly agentFaults: AgentFaults;
}

function createBoot(options: SimulatedNodeOptions, wrong: Faults, record: StepRecord): Boot {
  let running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  let runs: 'ramdisk' | 'instance' | 'nothing' = 'nothing';
  let count = 0;
  return {
    count: () => count,
    stopAgent: async () => {
      running?.stop.abort(new Error('the agent hangs'));
      await running?.ended;
    },
    power: () => (running ? 'on' : 'off'),
    runs: () => runs,
    start: (fromNetwork) => {
      const stop = new AbortController();
      count += 1;
      runs = fromNetwork ? (wrong.faults.bootsNothing ? 'nothing' : 'ramdisk') : 'instance';
      const ended = runs === 'ramdisk' ? ramdisk(options, wrong, record, stop.signal) : Promise.resolve();
      running = { stop, ended };
    },
    stop: async () => {
      const last = running;
      running = undefined;
      runs = 'nothing';
      last?.stop.abort(new Error('power off'));
      await last?.ended;
    },
  };
}

/** Init: starts the agent, and starts it again when its process dies, with what it kept in memory. */
async function ramdisk(
  options: SimulatedNodeOptions,
  { faults, agentFaults }: Faults,
  record: StepRecord,
  powerOff: AbortSignal,
): Promise<void> {
  const stateDir = await mkdtemp(join(tmpdir(), 'baton-simulated-node-'));
  // an agent that is started again is where it was: on real machines always port 9999
  const port = await freePort();
  const proxy = options.plainHttp ? await startAgentProxy(port, agentFaults) : undefined;
  try {
    while (!powerOff.aborted) {
      const death = new AbortController();
      const signal = AbortSignal.any([powerOff, death.signal]);
      await agentProcess(
        options,
        { stateDir, port, faults, proxyPort: proxy?.port },
        simulatedHardware(options, faults, record, death),
        signal,
      );
    }
  } finally {
    await proxy?.close();
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function agentProcess(
  options: SimulatedNodeOptions,
  {
    stateDir,
    port,
    faults,
    proxyPort,
  }: {
    readonly stateDir: string;
    readonly port: number;
    readonly faults: NodeFaults;
    readonly proxyPort: number | undefined;
  },
  hardware: HardwareManager,
  signal: AbortSignal,
): Promise<void> {
  const log = options.log ?? silentLog;
  const url = options.conductorUrl();
  const inspection = options.inspects ? ` ipa-inspection-callback-url=${url}/v1/continue_inspection` : '';
  const proxied = proxyPort === undefined ? '' : ` ipa-advertise-protocol=http ipa-advertise-port=${proxyPort}`;
  const config = readAgentConfig(`ipa-api-url=${url} ipa-lookup-interval=0.2${inspection}${proxied}`, {
    BATON_AGENT_ADDRESSES: options.mac,
    BATON_AGENT_STATE_DIR: stateDir,
    BATON_AGENT_LISTEN_HOST: '127.0.0.1',
    BATON_AGENT_LISTEN_PORT: String(port),
  });
  const dependencies = { run: noPrograms, clock: systemClock, random: Math.random, log, say: () => undefined };
  try {
    await runAgent(config, {
      ...dependencies,
      recentLog: () => '',
      hardwareManagers: [hardware],
      openInventory: simulatedInventory(options.mac, options.switchPort, () => faults.noInventory, options.moreDisks),
      ...(options.openTerminal ? { openTerminal: options.openTerminal } : {}),
      signal,
    });
  } catch (error) {
    if (!signal.aborted) log.error({ err: error }, 'simulated agent died');
  }
}

/** The simulated machine has no programs but `sync`, which does nothing, and `tar`, which packs its logs. */
const noPrograms: Run = (command, args, options) => {
  if (command === 'tar') return run(command, args, options);
  return command === 'sync'
    ? Promise.resolve({ stdout: '', stderr: '', exitCode: 0, durationMs: 0 })
    : Promise.reject(new AppError('command_failed', `the simulated ramdisk has no ${command}`));
};

function simulatedHardware(
  options: SimulatedNodeOptions,
  faults: NodeFaults,
  record: StepRecord,
  death: AbortController,
): HardwareManager {
  const act = async (context: AgentContext, step: string, entry: string): Promise<StepOutcome> => {
    const startedAt = performance.now();
    if (faults.dieInStep === step) {
      if (!faults.diesAgain) delete faults.dieInStep;
      const { comesBackAs } = faults;
      if (comesBackAs) faults.hardwareVersion = typeof comesBackAs === 'string' ? comesBackAs : comesBackAs();
      death.abort(new Error('the agent dies'));
    }
    const ms = faults.slowStep?.step === step ? faults.slowStep.ms : (options.stepMs ?? 5);
    await systemClock.sleep(ms, AbortSignal.any([context.signal, death.signal]));
    const failure = faults.failStep;
    if (failure?.step === step) {
      if (failure.once) delete faults.failStep;
      throw new AppError('image_error', failure.message);
    }
    context.reportProgress({ phase: step, done_bytes: 1, total_bytes: 1 });
    record.disk.push(entry);
    record.stepTimes.push({ step, startedAt, endedAt: performance.now() });
    return { kind: 'done', output: null };
  };
  const writeImage = defineStep({
    interface: 'deploy',
    step: 'write_image',
    priority: 0,
    description: 'pretends to write an image',
    args: z.object({ image_info: z.looseObject({ id: z.string() }), configdrive: z.string().nullish() }),
    run: (context: AgentContext, args) =>
      act(context, 'write_image', `write_image ${args.image_info.id}${args.configdrive ? ' with config drive' : ''}`),
  });
  const plain = ({ step, priority = 0, ...more }: SimulatedStep): OfferedStep => ({
    priority,
    step: defineStep({
      ...more,
      interface: 'deploy',
      step,
      priority,
      description: `pretends to ${step}`,
      args: z.object({ note: z.string().optional() }),
      run: (context: AgentContext) => act(context, step, step),
    }),
  });
  return {
    className: 'SimulatedHardwareManager',
    name: 'simulated',
    version: faults.hardwareVersion ?? '1',
    evaluateSupport: () => Promise.resolve(hardwareSupport.generic),
    steps: {
      deploy: [
        { step: writeImage, priority: 0 },
        ...Object.entries(options.deploySteps ?? standardSteps).map(([step, priority]) => plain({ step, priority })),
      ],
      clean: (options.cleanSteps ?? [{ step: 'erase_devices_metadata', priority: 99 }]).map(plain),
      service: (options.serviceSteps ?? []).map(plain),
    },
  };
}
