import { expect, test } from 'vitest';
import { errorChain } from '#shared/errors/app-error.ts';
import { findPullSecret, parsePullSecret } from '#shared/oci/pull-secret.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test.each([
  [base64('me:pass:word'), 'me', 'pass:word'],
  ['me:pass', 'me', 'pass'],
  [` ${base64(':token')}\n`, '', 'token'],
])('%j', (secret, user, password) => {
  expect(parsePullSecret(secret, 'f')).toEqual({ user, password });
});

test.each([['x'], [''], [base64('me')], [base64('me:')], [7], [null], ['me:a\nb'], ['/////w==']])(
  '%j is refused, and not repeated',
  (secret) => {
    const error = catchError(() => parsePullSecret(secret, 'instance_info.image_pull_secret'));
    // the whole message: nothing of the secret is in it
    expect(errorChain(error)).toBe(
      'instance_info.image_pull_secret must be base64 of user:password, as "auth" of a registry stands in Docker\'s config.json, or user:password itself',
    );
  },
);

const file = JSON.stringify({
  auths: {
    'quay.io': { auth: base64('me:one') },
    'https://index.docker.io/v1/': { username: 'hub', password: 'two' },
    'helper.example': {},
    'odd.example': { auth: 'secret-of-another-form' },
  },
  credsStore: 'desktop',
});
const find = (registry: string, text = file) => findPullSecret(text, registry, 'BATON_OCI_AUTH_FILE');

test('a registry’s login in Docker’s config.json', () => {
  expect(find('quay.io')).toEqual({ user: 'me', password: 'one' });
  expect(find('docker.io')).toEqual({ user: 'hub', password: 'two' });
  expect(find('other.example')).toBeUndefined();
});

test.each([
  ['helper.example', file, /auths\["helper\.example"\].*credential helper/],
  ['odd.example', file, /auths\["odd\.example"\]\.auth must be base64/],
  ['quay.io', 'no secret {', /BATON_OCI_AUTH_FILE: the file is not JSON$/],
  ['quay.io', '[]', /must have the form/],
  ['quay.io', '{"auths": []}', /must have the form/],
  ['quay.io', '{"auths": {"quay.io": "x"}}', /must be an object/],
])('%s in %s is refused, and says nothing of the secret', (registry, text, says) => {
  const read = (): unknown => find(registry, text);
  expect(read).toThrow(says);
  expect(errorChain(catchError(read))).not.toContain('secret-of-another-form');
});

function catchError(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
