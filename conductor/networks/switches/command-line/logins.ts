import type { SwitchAccess, SwitchCredential } from '#conductor/networks/switch-driver.ts';
import type { CommandLine, OpenCommandLine } from '#conductor/networks/switches/command-line/command-line.ts';
import type { SwitchTransaction } from '#conductor/networks/switches/command-line/switch-os.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** A login that nobody uses ends: switches have few. Milliseconds. */
const idleMs = 30_000;

/** The logins to one switch: one at a time, but for the moment in which another confirms what it did. */
export interface Logins {
  /** The one that is open, else another. */
  current(signal: AbortSignal | undefined): Promise<CommandLine>;
  /** A second one, which becomes the current. */
  another(signal: AbortSignal | undefined): Promise<CommandLine>;
  /** Amid `change` a stored credential is not asked for again: the way back must not need the database. */
  withAccount(change: () => Promise<void>): Promise<void>;
  close(): void;
}

export function createLogins(
  open: OpenCommandLine,
  transaction: SwitchTransaction | undefined,
  access: SwitchAccess,
  endsAfterMs = idleMs,
): Logins {
  const state: { open?: CommandLine; idle?: NodeJS.Timeout; running: number; account?: SwitchCredential } = {
    running: 0,
  };
  const { login } = access;
  const credential = login?.credential;
  const credentialed: SwitchAccess = credential
    ? { ...access, login: { ...login, credential: async () => state.account ?? credential() } }
    : access;
  const close = (): void => {
    clearTimeout(state.idle);
    state.open?.close();
    delete state.open;
  };
  const idleFromNow = (): void => {
    clearTimeout(state.idle);
    if (state.running === 0) state.idle = setTimeout(close, endsAfterMs).unref();
  };
  /** It is not idle while a command is under way, however long that takes. */
  const watched = (line: CommandLine): CommandLine => ({
    isClosed: () => line.isClosed(),
    close: () => line.close(),
    run: async (commands, signal) => {
      state.running += 1;
      clearTimeout(state.idle);
      try {
        return await line.run(commands, signal);
      } finally {
        state.running -= 1;
        idleFromNow();
      }
    },
  });
  const used = (line: CommandLine): CommandLine => {
    idleFromNow();
    return line;
  };
  return {
    current: async (signal) => {
      if (state.open && !state.open.isClosed()) return used(state.open);
      const line = watched(await open(credentialed, signal));
      if (transaction) await discardLeftBehind(transaction, line, access.endpoint, signal);
      state.open = line;
      return used(line);
    },
    another: async (signal) => {
      const line = watched(await open(credentialed, signal));
      state.open?.close();
      state.open = line;
      return used(line);
    },
    withAccount: async (change) => {
      if (credential) state.account = await credential();
      try {
        await change();
      } finally {
        delete state.account;
      }
    },
    close,
  };
}

/** Discards sessions of a conductor that was lost amid a change, or of this one: nothing else has such names. */
async function discardLeftBehind(
  { leftBehind }: SwitchTransaction,
  line: CommandLine,
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [found = ''] = await line.run([leftBehind.command], signal).catch((error: unknown) => {
    if (leftBehind.mayBeRefused && errorCode(error) === 'switch_error') return [];
    throw error;
  });
  const names = leftBehind.find(found);
  const [first] = names;
  if (first === undefined) return;
  const { discard } = leftBehind;
  if (!discard) {
    line.close();
    throw new AppError('busy', `switch ${endpoint} has ${first} to be confirmed, and takes it back by itself soon`);
  }
  for (const name of names) await line.run(discard(name), signal);
}
