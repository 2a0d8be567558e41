import ssh2 from 'ssh2';
import { readAccount, type SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { requireEndpoint } from '#conductor/networks/switches/command-line/endpoint.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { fingerprint } from '#shared/peers/host-key.ts';

/** A login over SSH; commands run on it by `programs.ts` and `shell.ts`. */
export interface SshClient {
  readonly client: ssh2.Client;
  /** Why it is closed; `undefined` while it is not. */
  closedBy(): AppError | undefined;
  /** Calls soon when it is closed already; answers how to be called no more. */
  onClose(listener: (reason: AppError) => void): () => void;
  /** @param reason for those who wait; default: it was closed here */
  close(reason?: AppError): void;
}

const connectTimeoutMs = 10_000;
/** Three missed answers, and the connection is lost: a switch that restarts says no goodbye. */
const keepaliveIntervalMs = 10_000;

/**
 * Logs in. The host key is compared before anything is sent that is secret.
 * @throws AppError `switch_error` for a host key that is not the pinned one or a refused login (which is not tried again
 * by itself: accounts lock); `unavailable` when there is no connection; `aborted`.
 */
export async function openSsh(access: SwitchAccess, signal: AbortSignal | undefined): Promise<SshClient> {
  const { endpoint, login } = access;
  const { host, port } = requireEndpoint(endpoint, ['ssh', 'netconf']);
  if (!login) throw new AppError('invalid_argument', `switch ${endpoint} has no login`);
  const [{ username, password }, privateKey] = await Promise.all([readAccount(login), login.privateKey?.()]);
  const client = new ssh2.Client();
  const listeners = new Set<(reason: AppError) => void>();
  const state: { closedBy?: AppError; hostKeyFault?: AppError | undefined } = {};
  const close = (reason: AppError): void => {
    if (state.closedBy) return;
    state.closedBy = reason;
    client.destroy();
    for (const listener of listeners) listener(reason);
  };
  const hostVerifier = (key: Buffer): boolean => {
    state.hostKeyFault = hostKeyFault(endpoint, key, login.hostKey);
    return state.hostKeyFault === undefined;
  };
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => close(new AppError('aborted', `the login to switch ${endpoint} was stopped`));
    const settle = (): void => {
      signal?.removeEventListener('abort', onAbort);
      listeners.delete(fail);
    };
    const fail = (reason: AppError): void => {
      settle();
      reject(reason);
    };
    listeners.add(fail);
    client.on('ready', () => {
      settle();
      resolve();
    });
    client.on('error', (cause) => close(state.hostKeyFault ?? connectionFault(endpoint, username, cause)));
    client.on('close', () => close(new AppError('unavailable', `switch ${endpoint} hung up`)));
    // some switches ask for the password by a dialogue of one question
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) => {
      finish(prompts.map(() => password ?? ''));
    });
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    client.on('connect', () => client.setNoDelay(true)); // a command is a packet
    client.connect({
      host,
      port,
      username,
      readyTimeout: connectTimeoutMs,
      keepaliveInterval: keepaliveIntervalMs,
      hostVerifier,
      ...(password === undefined ? {} : { password, tryKeyboard: true }),
      ...(privateKey === undefined ? {} : { privateKey }),
    });
  });
  return {
    client,
    closedBy: () => state.closedBy,
    onClose: (listener) => {
      const { closedBy } = state;
      if (closedBy) queueMicrotask(() => listener(closedBy));
      else listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: (reason = new AppError('aborted', `the connection to switch ${endpoint} was closed`)) => close(reason),
  };
}

function hostKeyFault(endpoint: string, key: Buffer, pinned: string | undefined): AppError | undefined {
  const shown = fingerprint(key);
  if (pinned === shown) return undefined;
  return new AppError(
    'switch_error',
    pinned === undefined
      ? `switch ${endpoint} shows the host key ${shown} and the networks file has none for it: compare it with what the ` +
          `switch's console says, then write host_key: ${shown}`
      : `switch ${endpoint} shows the host key ${shown}, the networks file has ${pinned}: nothing was sent; write the ` +
          'new one if the switch was replaced or set up again, else somebody is in between',
  );
}

function connectionFault(endpoint: string, username: string, cause: Error & { readonly level?: string }): AppError {
  if (cause.level === 'client-authentication') {
    return new AppError('switch_error', `switch ${endpoint} refused the login of ${username}`, {
      cause,
      situation: 'switch_login',
    });
  }
  return new AppError('unavailable', `the connection to switch ${endpoint} failed`, { cause });
}
