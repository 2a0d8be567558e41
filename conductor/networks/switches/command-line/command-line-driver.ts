import { randomBytes } from 'node:crypto';
import { isBond } from '#conductor/model/switch-bond.ts';
import {
  describePort,
  isSet,
  type SwitchConnection,
  type SwitchDriver,
  type SwitchPortSetting,
  type SwitchPortState,
  type SwitchTransport,
} from '#conductor/networks/switch-driver.ts';
import { changeLines, joinChanges, wayBack } from '#conductor/networks/switches/command-line/change-lines.ts';
import type { OpenCommandLine } from '#conductor/networks/switches/command-line/command-line.ts';
import type { ConnectedSwitch } from '#conductor/networks/switches/command-line/connected-switch.ts';
import { requireEndpoint } from '#conductor/networks/switches/command-line/endpoint.ts';
import { leftDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import { createLogins } from '#conductor/networks/switches/command-line/logins.ts';
import {
  describeUnread,
  missingVlans,
  requireOwnBonds,
  requireSettable,
  requireTrunks,
  requireWanted,
  statesOf,
  withOthers,
} from '#conductor/networks/switches/command-line/port-states.ts';
import { recordSwitch } from '#conductor/networks/switches/command-line/record-switch.ts';
import { removeVlans } from '#conductor/networks/switches/command-line/remove-vlans.ts';
import type {
  SwitchOs,
  SwitchSnapshot,
  SwitchTransaction,
} from '#conductor/networks/switches/command-line/switch-os.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';

/** The driver of a switch from its operating system's commands. */
export function commandLineDriver(os: SwitchOs): SwitchDriver {
  // of connections to one switch, one speaks at a time: a session of changes holds what it found at its beginning
  const turns = new Map<string, Promise<unknown>>();
  const inTurn = async <Result>(endpoint: string, work: () => Promise<Result>): Promise<Result> => {
    const turn = (turns.get(endpoint) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    turns.set(endpoint, settled);
    try {
      return await turn;
    } finally {
      if (turns.get(endpoint) === settled) turns.delete(endpoint);
    }
  };
  const transports = Object.keys(os.transports) as SwitchTransport[];
  return {
    name: os.name,
    transports,
    bonds: os.bonds && {
      modes: os.bonds.modes,
      pairs: os.bonds.pairs,
      transports: transports.filter((each) => (os.rowsOver?.[each] ?? os).bonds),
    },
    removesVlans: transports.filter((each) => (os.rowsOver?.[each] ?? os).removeVlan),
    portIdOf:
      os.portIdOf ??
      (({ portId, description }) =>
        [portId, description ?? ''].map((said) => os.portName?.(said) ?? said).find((name) => os.portId.test(name))),
    chassisIdPerPort: os.chassisIdPerPort,
    aliasesInLldp: os.aliasesInLldp,
    connect: (access) => {
      const { transport } = requireEndpoint(access.endpoint, transports);
      const rows = os.rowsOver?.[transport] ?? os;
      const { lldpNames } = os;
      const logins = createLogins(os.transports[transport] as OpenCommandLine, rows.transaction, access);
      const switchAt: ConnectedSwitch = { os, rows, access, logins, unsaved: [], saved: new Map(), latest: undefined };
      const asked = <Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> =>
        inTurn(access.endpoint, async () => {
          requireWanted(signal);
          return work();
        });
      return {
        readPorts: (portIds, signal) =>
          asked(signal, async () => {
            if (portIds.length === 0) return [];
            await save(switchAt, signal);
            return statesOf(switchAt, await read(switchAt, portIds, signal), portIds);
          }),
        apply: (settings, signal) =>
          asked(signal, async () => {
            if (settings.length > 0) await logins.withAccount(() => apply(switchAt, settings, signal));
          }),
        save: (settings, signal) =>
          asked(signal, async () => {
            const isSaved = settings.every((each) => switchAt.saved.get(each.portId) === describePort(each));
            if (!isSaved) await saveAll(switchAt, settings, [], signal);
          }),
        ...(lldpNames && {
          readPortNames: (signal) =>
            asked(signal, async () =>
              lldpNames.parse(await (await logins.current(signal)).run(lldpNames.commands, signal)),
            ),
        }),
        record: (signal) =>
          asked(signal, () => recordSwitch({ os, rows, logins, atShell: transport === 'ssh' }, signal)),
        describe: (settings, found) => changeLines(rows, settings, found, !rows.transaction, switchAt.latest),
        close: () => inTurn(access.endpoint, async () => logins.close()),
      } satisfies SwitchConnection;
    },
  };
}

async function read(
  switchAt: ConnectedSwitch,
  portIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<SwitchSnapshot> {
  const { os, rows, access, logins } = switchAt;
  const odd = portIds.find((portId) => !os.portId.test(portId));
  if (odd !== undefined) {
    throw new AppError('not_found', `switch ${access.endpoint} (${os.name}) has no port ${JSON.stringify(odd)}`);
  }
  // also where none is Baton's to make: VLANs at a member do nothing
  const { bonds } = rows;
  const outputs = await (await logins.current(signal)).run([...rows.read.commands, ...(bonds?.commands ?? [])], signal);
  switchAt.latest = { ...rows.read.parse(outputs), ...(bonds ? { members: bonds.members(outputs) } : {}) };
  return switchAt.latest;
}

async function apply(
  switchAt: ConnectedSwitch,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { os, rows, access } = switchAt;
  const portIds = settings.map(({ portId }) => portId);
  const before = await read(switchAt, portIds, signal);
  const found = statesOf(switchAt, before, portIds); // names an unknown port before anything is changed
  requireTrunks(os, rows, settings);
  requireOwnBonds(switchAt, settings, before);
  requireSettable(switchAt, settings, before);
  const missing = missingVlans(switchAt, settings, before);
  const [absent] = missing;
  if (absent !== undefined && !(access.createVlans && rows.createVlan)) {
    throw new AppError(
      'switch_error',
      `switch ${access.endpoint} has no VLAN ${absent}: create it there, or give the switch create_vlans: true`,
    );
  }
  const vlanLines = missing.flatMap((vlan) => rows.createVlan?.(vlan) ?? []);
  const change = { settings, vlanLines, found: withOthers(switchAt, before, found), snapshot: before };
  if (rows.transaction) await applyWhole(switchAt, rows.transaction, change, signal);
  else await applyLineByLine(switchAt, change, signal);
  const ask = async (commands: readonly string[]) => (await switchAt.logins.current(signal)).run(commands, signal);
  const run = (lines: readonly string[]): Promise<void> =>
    rows.transaction
      ? applyWhole(switchAt, rows.transaction, { ...change, settings: [], vlanLines: lines, found: [] }, signal)
      : runChange(switchAt, lines, [], signal);
  await removeVlans({ ...switchAt, ...change }, { ask, run, read: () => read(switchAt, [], signal) });
  await saveAll(switchAt, settings, found, signal);
}

/** @param found what the ports were: their bonds may be gone */
async function saveAll(
  switchAt: ConnectedSwitch,
  settings: readonly SwitchPortSetting[],
  found: readonly SwitchPortState[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { rows, saved } = switchAt;
  const portIds = settings.map(({ portId }) => portId);
  const bonds = [...found, ...settings].flatMap(({ bond }) => (isBond(bond) && rows.bonds?.name(bond.number)) || []);
  // as though nothing were set yet
  const bare = settings.map(({ portId }): SwitchPortState => ({ portId, vlans: 'other' }));
  switchAt.unsaved = rows.save([...portIds, ...new Set(bonds)], changeLines(rows, settings, bare, false));
  await save(switchAt, signal);
  for (const each of settings) saved.set(each.portId, describePort(each));
}

interface Change {
  readonly settings: readonly SwitchPortSetting[];
  readonly vlanLines: readonly string[];
  /** States of their ports, and of others in the bonds of these. */
  readonly found: readonly SwitchPortState[];
  readonly snapshot: SwitchSnapshot;
}

/** Has the last change outlast a restart of the switch, if it does not yet. */
async function save(switchAt: ConnectedSwitch, signal: AbortSignal | undefined): Promise<void> {
  if (switchAt.unsaved.length === 0) return;
  try {
    await (await switchAt.logins.current(signal)).run(switchAt.unsaved, signal);
    switchAt.unsaved = [];
  } catch (cause) {
    throw new AppError(
      'switch_error',
      `switch ${switchAt.access.endpoint} has changed and did not save that: its restart would undo it`,
      { cause, retryable: isRetryable(cause) },
    );
  }
}

/** Nothing of it, all of it for good, or all of it until the switch takes it back. */
async function applyWhole(
  switchAt: ConnectedSwitch,
  transaction: SwitchTransaction,
  change: Change,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { rows, logins } = switchAt;
  const { settings, vlanLines, found, snapshot } = change;
  const name = `baton-${randomBytes(4).toString('hex')}`;
  const first = await logins.current(signal);
  try {
    const lines = joinChanges(rows, changeLines(rows, settings, found, false, snapshot));
    await first.run([...transaction.open(name), ...vlanLines, ...lines, ...transaction.diff(name)], signal);
    await first.run(transaction.commit(name), signal);
  } catch (error) {
    if (!first.isClosed()) await first.run(transaction.abort(name)).catch(() => first.close());
    throw error;
  }
  try {
    const second = await logins.another(signal).catch(secondLoginFailed);
    await requireMoved(switchAt, settings, signal);
    await second.run(transaction.confirm(name), signal);
  } catch (error) {
    // the next login takes back what is not confirmed; without one, the switch does
    logins.close();
    await logins.current(undefined).catch(() => undefined);
    throw error;
  }
}

/** @throws AppError as the cause, which says nothing of the first login */
function secondLoginFailed(cause: unknown): never {
  if (!(cause instanceof AppError)) throw cause;
  const message =
    'the second login, which confirms the change while the first is open: the switch must allow two at once of this account';
  throw new AppError(cause.code, message, { cause, retryable: cause.retryable });
}

/** Where the switch has no transactions: when a line is refused, or the connection lost, the ports go back. */
async function applyLineByLine(
  switchAt: ConnectedSwitch,
  change: Change,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { rows, access } = switchAt;
  const { settings, vlanLines, found, snapshot: before } = change;
  const portIds = settings.map(({ portId }) => portId);
  try {
    await runChange(switchAt, vlanLines, changeLines(rows, settings, found, true, before), signal);
    await requireMoved(switchAt, settings, signal);
  } catch (error) {
    const goBack = async (): Promise<void> => {
      const left = await read(switchAt, portIds, undefined);
      const snapshot = { ...left, goDown: leftDown(before, left) };
      const now = withOthers(switchAt, snapshot, statesOf(switchAt, snapshot, portIds));
      const back = wayBack(settings, found);
      const vlans = missingVlans(switchAt, back, snapshot).flatMap((vlan) => rows.createVlan?.(vlan) ?? []);
      await runChange(switchAt, vlans, changeLines(rows, back, now, true, snapshot), undefined);
    };
    await goBack().catch((second: unknown) => {
      throw new AppError(
        'switch_error',
        `switch ${access.endpoint} failed amid a change of ${portIds.join(', ')}, nor could that be undone (${errorChain(second)})`,
        { cause: error, retryable: isRetryable(error) },
      );
    });
    throw error;
  }
}

async function runChange(
  { rows, logins }: ConnectedSwitch,
  vlanLines: readonly string[],
  lines: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const line = await logins.current(signal);
  const all = [...(rows.begin ?? []), ...vlanLines, ...joinChanges(rows, lines), ...(rows.end ?? [])];
  try {
    await line.run(all, signal);
  } catch (error) {
    // another mode than the next command is made for
    line.close();
    throw error;
  }
}

/** @throws AppError `switch_error` for a switch that says yes and does nothing. */
async function requireMoved(
  switchAt: ConnectedSwitch,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const portIds = settings.map(({ portId }) => portId);
  const now = await read(switchAt, portIds, signal);
  const states = statesOf(switchAt, now, portIds);
  const left = settings.filter((setting, index) => !isSet(states[index], setting)).map(({ portId }) => portId);
  if (left.length === 0) return;
  throw new AppError(
    'switch_error',
    `switch ${switchAt.access.endpoint} did not move ${left.join(', ')}, or something else writes them too${describeUnread(now, left)}`,
  );
}
