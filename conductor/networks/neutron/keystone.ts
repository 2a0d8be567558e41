import type { Agent } from 'undici';
import { z } from 'zod';
import type { KeystoneLogin } from '#conductor/networks/neutron/neutron-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';
import { readPrivateFile } from '#shared/private-file.ts';

export interface KeystoneToken {
  readonly id: string;
  /** Where the catalogue says that Neutron is. */
  readonly endpoint: string | undefined;
}

/** Tokens of OpenStack's Keystone v3, kept until shortly before they end. */
export interface Keystone {
  token(signal?: AbortSignal): Promise<KeystoneToken>;
  forget(): void;
}

const Answer = z.object({
  token: z.object({
    expires_at: z.string(),
    catalog: z
      .array(
        z.object({
          type: z.string(),
          endpoints: z.array(z.object({ interface: z.string(), region: z.string().nullish(), url: z.string() })),
        }),
      )
      .default([]),
  }),
});

/** A request may be under way when the token ends. Milliseconds. */
const earlyMs = 120_000;

export function openKeystone(login: KeystoneLogin, agent: () => Promise<Agent>): Keystone {
  const state: { token?: KeystoneToken & { readonly endsAt: number } } = {};
  const logIn = async (signal: AbortSignal | undefined): Promise<KeystoneToken> => {
    const secret = (await readPrivateFile(login.secretFile)).replace(/\r?\n$/, '');
    const answer = await askPeer('neutron', `${login.url}/auth/tokens`, {
      who: 'Keystone',
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(requestOf(login, secret)),
      dispatcher: await agent(),
      signal,
    }).catch((cause: unknown) => {
      if (cause instanceof AppError) throw cause;
      throw new AppError('unavailable', `Keystone at ${login.url} does not answer`, { cause });
    });
    const id = answer.headers['x-subject-token'];
    const parsed = Answer.safeParse(answer.body);
    if (answer.status >= 300 || typeof id !== 'string' || !parsed.success) {
      // an account locks after a few tries
      throw new AppError('switch_error', `Keystone at ${login.url} gives no token: HTTP ${answer.status}`, {
        retryable: answer.status >= 500,
      });
    }
    const { expires_at: end, catalog } = parsed.data.token;
    const endpoint = endpointIn(catalog, login.region);
    state.token = { id, endpoint, endsAt: Date.parse(end) };
    return state.token;
  };
  return {
    token: async (signal) => {
      const { token } = state;
      return token && token.endsAt - earlyMs > Date.now() ? token : logIn(signal);
    },
    forget: () => {
      delete state.token;
    },
  };
}

function requestOf({ as }: KeystoneLogin, secret: string): unknown {
  if ('applicationCredential' in as) {
    const application_credential = { id: as.applicationCredential, secret };
    return { auth: { identity: { methods: ['application_credential'], application_credential } } };
  }
  const user = { name: as.username, domain: { name: as.userDomain }, password: secret };
  const project = { name: as.project, domain: { name: as.projectDomain } };
  return { auth: { identity: { methods: ['password'], password: { user } }, scope: { project } } };
}

function endpointIn(
  catalog: z.infer<typeof Answer>['token']['catalog'],
  region: string | undefined,
): string | undefined {
  const all = catalog.filter(({ type }) => type === 'network').flatMap(({ endpoints }) => endpoints);
  const here = all.filter((each) => region === undefined || each.region === region);
  const found = ['internal', 'public', 'admin'].flatMap((face) => here.filter((each) => each.interface === face));
  return found[0]?.url.replace(/\/+$/, '').replace(/\/v2\.0$/, '');
}
