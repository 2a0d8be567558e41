import { AppError } from '#shared/errors/app-error.ts';
import { askRegistry, type RegistryMeans } from '#shared/oci/ask-registry.ts';
import { type Challenge, parseChallenges } from '#shared/oci/challenges.ts';
import type { RegistryLogin } from '#shared/oci/pull-secret.ts';
import type { PeerAnswer } from '#shared/peers/ask-peer.ts';

interface Asked {
  readonly repository: string;
  readonly about: string;
  readonly scheme: 'http' | 'https';
}

/**
 * Makes the Authorization header that a registry's 401 asks for (distribution specification, "Token Authentication"): a
 * token of the service that it names, with or without a login, else the login itself. Of several challenges Bearer is
 * preferred: its token expires by itself, and opens one repository.
 * @throws AppError `image_error` where a login is needed and there is none, or it is refused; `not_supported` for
 * another scheme.
 */
export async function authorize(
  answer: Pick<PeerAnswer, 'headers'>,
  asked: Asked,
  login: RegistryLogin | undefined,
  means: RegistryMeans,
): Promise<string> {
  const challenges = parseChallenges(answer.headers['www-authenticate']);
  const bearer = challenges.find(({ scheme, params }) => scheme === 'bearer' && params['realm'] !== undefined);
  if (bearer) return `Bearer ${await fetchToken(bearer, asked, login, means)}`;
  if (challenges.some(({ scheme }) => scheme === 'basic')) {
    if (login) return basic(login);
    throw denied(asked.about, `the registry wants a login: ${means.loginAdvice}`);
  }
  const schemes = challenges.map(({ scheme }) => scheme).join(', ') || 'nothing that is understood';
  throw new AppError('not_supported', `${asked.about}: the registry wants ${schemes}: Bearer and Basic are supported`, {
    situation: 'image_denied',
    subject: asked.about,
  });
}

function basic({ user, password }: RegistryLogin): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}

async function fetchToken(
  { params }: Challenge,
  asked: Asked,
  login: RegistryLogin | undefined,
  means: RegistryMeans,
): Promise<string> {
  const { about, scheme } = asked;
  const url = URL.parse(params['realm'] ?? '');
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw denied(about, 'the registry names no service that gives tokens');
  }
  // the login of a registry that is spoken to by HTTPS must not be sent in clear
  if (url.protocol === 'http:' && scheme === 'https') {
    throw denied(about, `the registry names a service by plain HTTP (${url.host}) for its tokens`);
  }
  if (params['service'] !== undefined) url.searchParams.set('service', params['service']);
  // a token for reading, whatever scope the challenge names
  url.searchParams.set('scope', `repository:${asked.repository}:pull`);
  const headers = login ? { authorization: basic(login) } : {};
  const answer = await askRegistry(url, headers, about, means);
  if (answer.status === 401 || answer.status === 403) {
    const why = login
      ? 'refuses the login that it was shown'
      : `wants a login, or the registry has no such image: ${means.loginAdvice}`;
    throw denied(about, `${url.host}, which gives the registry's tokens, ${why}`);
  }
  const passes = answer.status === 429 || answer.status >= 500;
  const body = typeof answer.body === 'object' && answer.body !== null ? answer.body : {};
  const token = [Reflect.get(body, 'token'), Reflect.get(body, 'access_token')].find(
    (each) => typeof each === 'string' && /^[\x21-\x7e]+$/.test(each),
  );
  if (answer.status === 200 && typeof token === 'string') return token;
  throw new AppError(
    passes ? 'unavailable' : 'image_error',
    `${about}: ${url.host} answered ${answer.status} without a token`,
    { situation: passes ? 'image_server' : 'image_denied', subject: about },
  );
}

function denied(about: string, what: string): AppError {
  return new AppError('image_error', `${about}: ${what}`, { situation: 'image_denied', subject: about });
}
