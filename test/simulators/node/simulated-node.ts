import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { runAgent } from '#agent/agent.ts';
import { type CommandDefinition, defineCommand } from '#agent/commands/command.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import { finalizeRescue } from '#agent/commands/finalize-rescue.ts';
import { readAgentConfig } from '#agent/config.ts';
import type { HardwareManager } from '#agent/hardware/hardware-manager.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Log, silentLog } from '#shared/log.ts';
import { type Run, run } from '#shared/process/run.ts';
import type { OpenTerminal } from '#shared/terminal/terminal.ts';
import {
  type AgentFaults,
  type AgentProxy,
  createAgentFaults,
  startAgentProxy,
} from '#test/simulators/node/agent-proxy.ts';
import {
  type NodeFaults,
  type SimulatedHardwareOptions,
  type StepRecord,
  type StepTime,
  simulatedHardware,
} from '#test/simulators/node/simulated-hardware.ts';
import {
  type SimulatedDisk,
  type SimulatedSwitchPort,
  simulatedDisks,
  simulatedInventory,
} from '#test/simulators/node/simulated-inventory.ts';
import {
  createMemoryMachine,
  type SimulatedMachine,
  type SimulatedPowerAction,
} from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { claimPort } from '#test/support/free-port.ts';

/** A server as the conductor sees it: a Redfish BMC, and the real agent with simulated disks when it boots by PXE. */
export interface SimulatedNode {
  readonly mac: string;
  readonly bmc: RedfishSimulator;
  readonly driverInfo: Record<string, unknown>;
  readonly faults: NodeFaults;
  /** Faults that are answered in the agent's place; need `plainHttp`. */
  readonly agentFaults: AgentFaults;
  /** `on` or `off`, and what the machine runs: the ramdisk, its own system, or nothing. */
  state(): { readonly power: 'on' | 'off'; readonly runs: 'ramdisk' | 'instance' | 'nothing' };
  /** How often it has been powered on or reset. */
  boots(): number;
  /** The agent's process ends and init does not start it again; the machine stays on. */
  stopAgent(): Promise<void>;
  /** Acts of in-band steps on the disk, in order: `write_image demo.raw`. */
  readonly disk: readonly string[];
  /** When in-band steps ran in the agent, in order; milliseconds of `performance.now()`. */
  readonly stepTimes: readonly StepTime[];
  /** In-band steps amid which the machine was switched off or reset, in order. */
  readonly cutAmid: readonly string[];
  /** Ends the time in which it may go into its system by kexec: one that has not gone powers itself off. */
  endParking(): Promise<void>;
  close(): Promise<void>;
}

export interface SimulatedNodeOptions extends SimulatedHardwareOptions {
  readonly conductorUrl: () => string;
  readonly mac: string;
  /** The ramdisk's shell; without one the agent has no console. */
  readonly openTerminal?: OpenTerminal;
  /** LLDP data of its switch; without it nothing is heard. */
  readonly switchPort?: SimulatedSwitchPort;
  /** Beside `/dev/sda`, which has 100 GiB and an old system on it. */
  readonly moreDisks?: readonly SimulatedDisk[];
  /** The ramdisk reports the machine by itself, as one does that is booted for an inspection. */
  readonly inspects?: boolean;
  /** The agent serves without TLS, through a proxy that `agentFaults` are put into. */
  readonly plainHttp?: boolean;
  /** Starts that proxy; default `startAgentProxy`. */
  readonly startProxy?: typeof startAgentProxy;
  readonly log?: Log;
  /** Password of its BMC's account `admin`; default `simulated`. */
  readonly bmcPassword?: string;
}

const username = 'admin';

export async function startSimulatedNode(options: SimulatedNodeOptions): Promise<SimulatedNode> {
  const faults: NodeFaults = {};
  const agentFaults = createAgentFaults();
  const record: StepRecord = { disk: [], stepTimes: [], running: new Set(), cutAmid: [] };
  const boot = createBoot(options, { faults, agentFaults }, record);
  const machine = bootingMachine(boot, record);
  const password = options.bmcPassword ?? 'simulated';
  const bmc = await startRedfishSimulator({ machine, username, password, macs: [options.mac] });
  return {
    mac: options.mac,
    bmc,
    driverInfo: {
      redfish_address: bmc.address,
      redfish_username: username,
      redfish_password: password,
    },
    faults,
    agentFaults,
    state: () => ({ power: boot.power(), runs: boot.runs() }),
    boots: () => boot.count(),
    stopAgent: () => boot.stopAgent(),
    disk: record.disk,
    stepTimes: record.stepTimes,
    cutAmid: record.cutAmid,
    endParking: () => boot.endParking(),
    close: async () => {
      await boot.stop();
      await bmc.close();
    },
  };
}

interface Boot {
  count(): number;
  stopAgent(): Promise<void>;
  /** `cd`: the address of what is in the virtual drive. */
  start(from: 'network' | 'disk' | { readonly cd: string }): void;
  /** An instance that runs from a CD ends with another, or none, in the drive; a ramdisk is in memory. */
  changeCd(cd: string | undefined): void;
  stop(): Promise<void>;
  endParking(): Promise<void>;
  /** `true` = it did not shut down: it went into its system by kexec, or took no notice. */
  pressButton(): boolean;
  /** Sets what is done when it powers itself off. */
  onOff(powerOff: () => Promise<void>): void;
  power(): 'on' | 'off';
  runs(): 'ramdisk' | 'instance' | 'nothing';
}

/** Power and boot order of a machine in memory, with a boot behind them. */
function bootingMachine(boot: Boot, { running, cutAmid }: StepRecord): SimulatedMachine {
  const memory = createMemoryMachine();
  boot.onOff(async () => {
    await memory.setPower('off');
    await boot.stop();
  });
  let media: string | undefined;
  return {
    ...memory,
    setMedia: (url) => {
      media = url;
      boot.changeCd(url);
    },
    setPower: async (action: SimulatedPowerAction) => {
      const { device } = await memory.getBoot();
      const from =
        device === 'cdrom' && media !== undefined
          ? { cd: media }
          : device === 'pxe' || device === 'http'
            ? 'network'
            : 'disk';
      const wasOn = (await memory.getPower()) === 'on';
      if (action === 'graceful' && boot.pressButton()) return;
      await memory.setPower(action);
      if (action !== 'on' || !wasOn) {
        cutAmid.push(...running);
        await boot.stop();
      }
      if (action === 'reset' || (action === 'on' && !wasOn)) boot.start(from);
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
  let instanceCd: string | undefined;
  let powerOff: () => Promise<void> = () => Promise.resolve();
  let parked: NodeJS.Timeout | undefined;
  let loadedParams: string | undefined;
  const startRamdisk = (params: RamdiskPlace['params']): void => {
    const stop = new AbortController();
    runs = wrong.faults.bootsNothing ? 'nothing' : 'ramdisk';
    const ended =
      runs === 'ramdisk' ? ramdisk({ options, params, park }, wrong, record, stop.signal) : Promise.resolve();
    running = { stop, ended };
  };
  const loadRamdisk = async (): Promise<void> => {
    loadedParams = await loadInitrds(options);
    if (loadedParams === undefined) await powerOff();
  };
  const unpark = (): void => {
    clearTimeout(parked);
    parked = undefined;
  };
  const park = (seconds: number): void => {
    unpark();
    parked = setTimeout(() => void powerOff(), seconds * 1000);
  };
  return {
    count: () => count,
    onOff: (next) => {
      powerOff = next;
    },
    endParking: () => (parked ? powerOff() : Promise.resolve()),
    pressButton: () => {
      if (wrong.faults.deafButton) return true;
      if (runs === 'instance' && wrong.faults.cooperates) {
        const params = loadedParams;
        if (params === undefined) void loadRamdisk();
        else if (wrong.faults.cooperates === 'yes') startRamdisk(() => params);
        return true;
      }
      if (!parked) return false;
      unpark();
      running?.stop.abort(new Error('kexec'));
      running = { stop: new AbortController(), ended: running?.ended ?? Promise.resolve() };
      runs = 'instance';
      return true;
    },
    stopAgent: async () => {
      running?.stop.abort(new Error('the agent hangs'));
      await running?.ended;
    },
    power: () => (running ? 'on' : 'off'),
    runs: () => runs,
    start: (from) => {
      count += 1;
      const cd = typeof from === 'string' ? undefined : from.cd;
      // an ISO of the operator's own is the instance
      const isInstance = from === 'disk' || (cd !== undefined && !new URL(cd).pathname.startsWith('/media/'));
      instanceCd = isInstance ? cd : undefined;
      loadedParams = undefined;
      if (!isInstance) return startRamdisk(() => (cd === undefined ? '' : readParams(cd)));
      runs = 'instance';
      running = { stop: new AbortController(), ended: Promise.resolve() };
    },
    changeCd: (cd) => {
      if (running && instanceCd !== undefined && cd !== instanceCd) runs = 'nothing';
    },
    stop: async () => {
      const last = running;
      unpark();
      running = undefined;
      runs = 'nothing';
      loadedParams = undefined;
      last?.stop.abort(new Error('power off'));
      await last?.ended;
    },
  };
}

/** Init: starts the agent, and starts it again when its process dies, with what it kept in memory. */
async function ramdisk(
  { options, params, park }: RamdiskPlace,
  { faults, agentFaults }: Faults,
  record: StepRecord,
  powerOff: AbortSignal,
): Promise<void> {
  // an agent that is started again is where it was: on real machines always port 9999
  const { port, release } = await claimPort();
  let stateDir: string | undefined;
  let proxy: AgentProxy | undefined;
  try {
    stateDir = await mkdtemp(join(tmpdir(), 'baton-simulated-node-'));
    if (options.plainHttp) proxy = await (options.startProxy ?? startAgentProxy)(port, agentFaults);
    while (!powerOff.aborted) {
      const death = new AbortController();
      const signal = AbortSignal.any([powerOff, death.signal]);
      const end = await agentProcess(
        options,
        { stateDir, port, faults, park, proxyPort: proxy?.port, params: await params() },
        simulatedHardware(options, faults, record, death, simulatedDisks(options.mac, options.moreDisks)),
        signal,
      );
      if (end === 'stood aside' && !powerOff.aborted) await once(powerOff, 'abort');
    }
  } finally {
    await proxy?.close();
    await release();
    if (stateDir !== undefined) await rm(stateDir, { recursive: true, force: true });
  }
}

interface RamdiskPlace extends Pick<AgentPlace, 'park'> {
  readonly options: SimulatedNodeOptions;
  /** Gives parameters of the kernel, beside those that every simulated ramdisk has. */
  readonly params: () => string | Promise<string>;
}

interface AgentPlace {
  readonly stateDir: string;
  readonly port: number;
  readonly faults: NodeFaults;
  /** Powers the machine off after so many seconds, unless its button is pressed. */
  readonly park: (seconds: number) => void;
  readonly proxyPort: number | undefined;
  readonly params: string;
}

async function agentProcess(
  options: SimulatedNodeOptions,
  { stateDir, port, faults, park, proxyPort, params }: AgentPlace,
  hardware: HardwareManager,
  signal: AbortSignal,
): Promise<'stood aside' | 'died'> {
  const log = options.log ?? silentLog;
  const url = options.conductorUrl();
  const inspection = options.inspects ? ` ipa-inspection-callback-url=${url}/v1/continue_inspection` : '';
  const proxied = proxyPort === undefined ? '' : ` ipa-advertise-protocol=http ipa-advertise-port=${proxyPort}`;
  const config = readAgentConfig(`${params} ipa-api-url=${url} ipa-lookup-interval=0.2${inspection}${proxied}`, {
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
      openInventory: simulatedInventory(options.mac, options.switchPort, faults, options.moreDisks),
      ...(options.openTerminal ? { openTerminal: options.openTerminal } : {}),
      // never this machine's own accounts
      commands: {
        ...commandTable,
        ...(faults.saysInstalled ? { image: { ...commandTable['image'], install_bootloader: saysInstalled } } : {}),
        rescue: { finalize_rescue: finalizeRescue(stateDir) },
        standby: { ...commandTable['standby'], park_for_kexec: parkForKexec(faults, park) },
      },
      signal,
    });
    return signal.aborted ? 'died' : 'stood aside';
  } catch (error) {
    if (!signal.aborted) log.error({ err: error }, 'simulated agent died');
    return 'died';
  }
}

const saysInstalled = defineCommand({
  kind: 'async',
  params: z.looseObject({}),
  run: () => Promise.resolve('installed'),
});

function parkForKexec({ noKexec }: NodeFaults, park: AgentPlace['park']): CommandDefinition {
  return defineCommand({
    kind: 'async',
    params: z.looseObject({ seconds: z.number() }),
    run: async (_services, { seconds }) => {
      if (noKexec !== undefined) throw new AppError('not_supported', noKexec);
      park(seconds);
      return Promise.resolve({
        kexec_result: { entry: 'Demo', kernel: '/vmlinuz', initrds: ['/initrd.img'], command_line: 'root=LABEL=root' },
      });
    },
  });
}

/** The kernel parameters that the CD at this address has for GRUB, and those that its second initrd has. */
async function readParams(cd: string): Promise<string> {
  const answer = await fetch(cd);
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1');
  return `${/set baton_parameters='(.*)'$/m.exec(text)?.[1] ?? ''} ${readSecrets(text)}`;
}

/** Loads the initrds as `baton-kexec` does. @returns the parameters in them, `undefined` where not all were answered */
async function loadInitrds({ conductorUrl, mac }: SimulatedNodeOptions): Promise<string | undefined> {
  const script = await (await fetch(`${conductorUrl()}/boot/node.ipxe?mac=${mac}`)).text();
  const initrds = [...script.matchAll(/^initrd --name (\S+) \S+\/boot\/(\S+)/gm)];
  let params = initrds.length === 0 ? undefined : '';
  for (const [, name, file] of initrds) {
    const answer = await fetch(`${conductorUrl()}/boot/${file}`);
    if (!answer.ok) return undefined;
    const content = Buffer.from(await answer.arrayBuffer());
    if (name === 'secrets.img') params = readSecrets(content.toString());
  }
  return params;
}

/** Reads what an initrd of `secretsArchive` tells. */
function readSecrets(text: string): string {
  return /^ipa-agent-token=.*$/m.exec(text.replaceAll('\0', '\n'))?.[0] ?? '';
}

/** Programs that a simulated machine has, and that do nothing there. */
const idlePrograms = ['sync', '/usr/lib/baton/start-rescue'];

/** The simulated machine has no programs but idle ones and `tar`, which packs its logs. */
const noPrograms: Run = (command, args, options) => {
  if (command === 'tar') return run(command, args, options);
  return idlePrograms.includes(command)
    ? Promise.resolve({ stdout: '', stderr: '', exitCode: 0, durationMs: 0 })
    : Promise.reject(new AppError('command_failed', `the simulated ramdisk has no ${command}`));
};
