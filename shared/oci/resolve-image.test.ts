import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { errorChain } from '#shared/errors/app-error.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import type { RegistryLogin } from '#shared/oci/pull-secret.ts';
import { parseOciReference } from '#shared/oci/reference.ts';
import { resolveImage } from '#shared/oci/resolve-image.ts';
import { type Answer, type FakeRegistry, startFakeRegistry } from '#shared/oci/testing/fake-registry.ts';
import { createInstantClock } from '#test/support/instant-clock.ts';

let registry: FakeRegistry;
let tokens: FakeRegistry;
let clock: ReturnType<typeof createInstantClock>;
beforeEach(async () => {
  registry = await startFakeRegistry();
  tokens = await startFakeRegistry();
  clock = createInstantClock();
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await tokens[Symbol.asyncDispose]();
});

const fileDigest = `sha256:${'f'.repeat(64)}`;
const login: RegistryLogin = { user: 'me', password: 'pull-secret' };
const basic = `Basic ${Buffer.from('me:pull-secret').toString('base64')}`;

function layer(title?: string, mediaType = 'application/vnd.oci.image.layer.v1.tar', digest = fileDigest): object {
  const named = title === undefined ? {} : { annotations: { 'org.opencontainers.image.title': title } };
  return { mediaType, digest, size: 1000, ...named };
}

const manifest = (...layers: readonly object[]): object => ({ schemaVersion: 2, layers });

interface Entry {
  readonly architecture?: string;
  readonly annotations?: object;
}

function index(...entries: readonly (Entry & { readonly digest: string })[]): object {
  const manifests = entries.map(({ digest, architecture, annotations }) => ({
    digest,
    size: 1,
    ...(architecture === undefined ? {} : { platform: { architecture, os: 'linux' } }),
    ...(annotations === undefined ? {} : { annotations }),
  }));
  return { schemaVersion: 2, manifests };
}

interface Asking {
  readonly login?: RegistryLogin;
  readonly cpuArch?: string | undefined;
  readonly refuses?: (url: URL) => void;
}

function resolve(name: string, { login: with_, cpuArch, refuses = () => undefined }: Asking = {}) {
  const means: RegistryMeans = {
    clock,
    signal: new AbortController().signal,
    checkUrl: refuses,
    plainHttp: new Set([registry.host]),
    loginFor: () => Promise.resolve(with_),
    loginAdvice: 'give one as image_pull_secret',
    archField: "the node's properties.cpu_arch",
    patienceMs: 10_000,
  };
  return resolveImage(parseOciReference(`oci://${registry.host}/${name}`, 'image_source'), cpuArch, means);
}

const refusalOf = async (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'nothing',
    (error: unknown) => errorChain(error),
  );

describe('a manifest', () => {
  test('without media type, whatever its Content-Type says, by GET alone', async () => {
    const digest = registry.put(manifest(layer('debian.raw.zst')), '12');
    expect(await resolve('disk:12')).toEqual({
      digest: fileDigest,
      size: 1000,
      title: 'debian.raw.zst',
      format: 'raw',
      pinned: `oci://${registry.host}/disk:12@${digest}`,
      url: `http://${registry.host}/v2/disk/blobs/${fileDigest}`,
      authorization: undefined,
    });
    expect(registry.requests).toEqual(['GET /v2/disk/manifests/12']);
  });

  test.each([
    ['an ending that means raw', [layer('a.img.xz'), layer('SHA256SUMS.sha256')], undefined],
    ['an ending that means qcow2', [layer('a.qcow2')], 'qcow2'],
    ['a media type', [layer(undefined, 'application/vnd.qemu.qcow2'), layer(undefined)], 'qcow2'],
    ['no name, and the only file', [layer(undefined, 'application/octet-stream')], undefined],
    ['a name without an ending', [layer('debian', 'application/zstd')], undefined],
  ])('its disk is known by %s', async (_, layers, format) => {
    registry.put(manifest(...layers), 'it');
    expect(await resolve('disk:it')).toMatchObject({ digest: fileDigest, format });
  });

  const other = `sha256:${'e'.repeat(64)}`;
  test.each([
    ['a container', manifest(layer(), layer()), /is a container image \(2 layers.*oras push.*bootc install to-disk/],
    ['nothing', manifest(), /has no disk image: it has nothing/],
    ['other files', manifest(layer('a.vmdk'), layer('a.iso')), /has no disk image: it has a\.vmdk, a\.iso/],
    [
      'several disks',
      manifest(layer('a.raw'), layer('b.raw', undefined, other)),
      /several files that may be the disk \(a\.raw, b\.raw\)/,
    ],
    ['qcow2 within zstd', manifest(layer('a.qcow2.zst')), /a\.qcow2\.zst is qcow2 that is compressed once more/],
    ['an index in chunks', manifest(layer('a.caibx')), /has no disk image/],
    ['neither layers nor manifests', { schemaVersion: 2 }, /neither layers nor manifests/],
    ['both', { layers: [], manifests: [] }, /both layers and manifests/],
    ['an old schema', { schemaVersion: 1, fsLayers: [] }, /schema version 1/],
    ['a layer of another digest', manifest({ digest: 'md5:x', size: 1 }), /malformed \(layers\.0\.digest/],
  ])('with %s is refused', async (_, document, says) => {
    registry.put(document, 'it');
    expect(await refusalOf(resolve('disk:it'))).toMatch(says);
  });

  test.each<[string, string | undefined, (long: string) => object]>([
    ['a title', undefined, (long) => manifest(layer(`${long}.iso`))],
    ['the name of an annotation', undefined, (long) => ({ ...manifest(), annotations: { [long]: 7 } })],
    ['an architecture', 'x86_64', (long) => index({ digest: fileDigest, architecture: long })],
    [
      'architectures to choose from',
      undefined,
      (long) => index({ digest: fileDigest, architecture: long }, { digest: `sha256:${'e'.repeat(64)}` }),
    ],
  ])('with %s of many characters is refused in few', async (_, cpuArch, document) => {
    registry.put(document('x'.repeat(50_000)), 'long');
    expect((await refusalOf(resolve('disk:long', { cpuArch }))).length).toBeLessThan(2500);
  });

  test('that is not the one that was asked for by its digest is refused', async () => {
    const digest = registry.put(manifest(layer('a.raw')));
    registry.answerNext((_request, response) => void response.end(JSON.stringify(manifest(layer('b.raw')))));
    expect(await refusalOf(resolve(`disk@${digest}`))).toContain('does not have this digest');
    expect(await resolve(`disk@${digest}`)).toMatchObject({ title: 'a.raw' });
  });

  test('that the registry’s own header says is another is refused', async () => {
    const body = JSON.stringify(manifest(layer('a.raw')));
    registry.answerNext((_request, response) =>
      response.writeHead(200, { 'Docker-Content-Digest': `sha256:${'0'.repeat(64)}` }).end(body),
    );
    expect(await refusalOf(resolve('disk:it'))).toContain('and sent another');
  });

  test('by sha512', async () => {
    const body = JSON.stringify(manifest(layer('a.raw')));
    const digest = `sha512:${createHash('sha512').update(body).digest('hex')}`;
    registry.answerNext((_request, response) => void response.end(body));
    expect(await resolve(`disk@${digest}`)).toMatchObject({ pinned: `oci://${registry.host}/disk@${digest}` });
  });

  test('that leads elsewhere is followed without the authorization, and not to plain HTTP from HTTPS', async () => {
    registry.challenge = 'Basic realm="x"';
    registry.opens.add(basic);
    tokens.put(manifest(layer('a.raw')), 'moved');
    const away: Answer = (_request, response) =>
      response.writeHead(307, { Location: `http://${tokens.host}/v2/moved` }).end();
    registry.answerNext((_request, response) => response.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end(), away);
    expect(await resolve('disk:it', { login })).toMatchObject({ title: 'a.raw' });
    expect(registry.requests).toContain(`GET /v2/disk/manifests/it ${basic}`);
    expect(tokens.requests).toEqual(['GET /v2/moved']);
  });
});

describe('an index', () => {
  const both = (): string => {
    const amd = registry.put(manifest(layer('amd.raw')));
    const arm = registry.put(manifest(layer('arm.raw', undefined, `sha256:${'d'.repeat(64)}`)));
    return registry.put(index({ digest: arm, architecture: 'arm64' }, { digest: amd, architecture: 'amd64' }), 'both');
  };

  test.each([
    ['x86_64', 'amd.raw'],
    ['amd64', 'amd.raw'],
    ['aarch64', 'arm.raw'],
  ])('has the image for %s', async (cpuArch, title) => {
    both();
    expect(await resolve('disk:both', { cpuArch })).toMatchObject({ title });
  });

  test('named by its digest is pinned to the manifest', async () => {
    const digest = both();
    const { pinned } = await resolve(`disk@${digest}`, { cpuArch: 'x86_64' });
    expect(pinned).not.toContain(digest);
    expect(await resolve(pinned.split('/').slice(3).join('/'))).toMatchObject({ title: 'amd.raw', pinned });
  });

  test('without an image for the machine, or with several where its architecture is unknown, is refused', async () => {
    both();
    expect(await refusalOf(resolve('disk:both', { cpuArch: 'ppc64le' }))).toMatch(
      /has images for amd64, arm64, and the node's properties\.cpu_arch is ppc64le/,
    );
    expect(await refusalOf(resolve('disk:both'))).toMatch(/cpu_arch decides, and is not set/);
  });

  test('as podman-machine’s: raw is chosen before qcow2, by disktype; a provenance is no image', async () => {
    const of = (title: string, digit: string) =>
      registry.put(manifest(layer(title, 'application/zstd', `sha256:${digit.repeat(64)}`)));
    const entry = (digest: string, disktype: string) => ({ digest, architecture: 'x86_64', annotations: { disktype } });
    const provenance = {
      digest: of('a.json', '4'),
      annotations: { 'vnd.docker.reference.type': 'attestation-manifest' },
    };
    registry.put(
      index(
        provenance,
        entry(of('m.vhdx.zst', '1'), 'hyperv'),
        entry(of('m.qcow2.zst', '2'), 'qemu'),
        entry(of('m.raw.zst', '3'), 'applehv'),
      ),
      'machine',
    );
    expect(await resolve('disk:machine', { cpuArch: 'x86_64' })).toMatchObject({ title: 'm.raw.zst', format: 'raw' });
    registry.put(index(entry(of('m.vhdx.zst', '1'), 'hyperv')), 'hyperv');
    expect(await refusalOf(resolve('disk:hyperv'))).toMatch(/disks of type hyperv alone/);
  });

  test('whose entries say nothing is looked into: one disk is it, two are not', async () => {
    const [disk, container] = [registry.put(manifest(layer('a.raw'))), registry.put(manifest(layer()))];
    registry.put(index({ digest: container }, { digest: disk }), 'mixed');
    expect(await resolve('disk:mixed')).toMatchObject({ title: 'a.raw' });
    const second = registry.put(manifest(layer('b.raw', undefined, `sha256:${'b'.repeat(64)}`)));
    registry.put(index({ digest: disk }, { digest: second }), 'two');
    expect(await refusalOf(resolve('disk:two'))).toMatch(/several images that may be meant: name one by its digest/);
    registry.put(index({ digest: container }), 'container');
    expect(await refusalOf(resolve('disk:container'))).toMatch(/is a container image/);
  });

  test('of which one can’t be read is not taken for one without it', async () => {
    const [disk, missing] = [registry.put(manifest(layer('a.raw'))), `sha256:${'9'.repeat(64)}`];
    registry.put(index({ digest: disk }, { digest: missing }), 'holed');
    expect(await refusalOf(resolve('disk:holed'))).toMatch(/the registry has no such image/);
  });

  test('that leads round and round ends', async () => {
    const inner = registry.put(
      index({ digest: registry.put(index({ digest: registry.put(index({ digest: fileDigest })) })) }),
    );
    registry.put(index({ digest: inner }), 'deep');
    expect(await refusalOf(resolve('disk:deep'))).toMatch(/more than 3 deep/);
  });
});

describe('a registry that wants to know who asks', () => {
  beforeEach(() => {
    registry.put(manifest(layer('a.raw')), 'it');
  });
  const realm = (): string =>
    `Bearer realm="http://${tokens.host}/token",service="a, \\"b\\"",scope="repository:x:push"`;
  const give = (body: object, status = 200): void =>
    tokens.answerNext((_request, response) => response.writeHead(status).end(JSON.stringify(body)));

  test.each([
    ['token', { token: 'abc', expires_in: 60 }],
    ['access_token', { access_token: 'abc' }],
  ])('a token, as %s: for reading this repository alone, and the login goes only to the service', async (_, body) => {
    registry.challenge = realm();
    registry.opens.add('Bearer abc');
    give(body);
    expect(await resolve('disk:it', { login })).toMatchObject({ authorization: 'Bearer abc' });
    const asked = '/token?service=a%2C+%22b%22&scope=repository%3Adisk%3Apull';
    expect(tokens.requests).toEqual([`GET ${asked} ${basic}`]);
    expect(registry.requests.join(' ')).not.toContain('Basic');
  });

  test('anonymous', async () => {
    registry.challenge = realm();
    registry.opens.add('Bearer abc');
    give({ token: 'abc' });
    expect(await resolve('disk:it')).toMatchObject({ authorization: 'Bearer abc' });
    expect(tokens.requests[0]).not.toContain('Basic');
  });

  test.each([
    ['Basic first', (bearer: string) => `Basic realm="a", ${bearer}`],
    ['Basic last', (bearer: string) => `${bearer}, Basic realm="a"`],
    ['in headers of their own', (bearer: string) => ['Negotiate', 'Basic realm="a"', bearer]],
  ])('several challenges, %s: the token goes first', async (_, challenge) => {
    registry.challenge = challenge(realm());
    registry.opens.add('Bearer abc');
    give({ token: 'abc' });
    expect(await resolve('disk:it', { login })).toMatchObject({ authorization: 'Bearer abc' });
  });

  test('Basic alone', async () => {
    registry.challenge = 'BASIC realm="Sonatype Nexus"';
    registry.opens.add(basic);
    expect(await resolve('disk:it', { login })).toMatchObject({ authorization: basic });
    expect(await refusalOf(resolve('disk:it'))).toMatch(/wants a login: give one as image_pull_secret/);
  });

  test('a token that ends amid an index is asked for once more', async () => {
    const disk = registry.put(manifest(layer('b.raw')));
    registry.put(index({ digest: disk }), 'index');
    registry.challenge = realm();
    registry.opens.add('Bearer one');
    give({ token: 'one' });
    give({ token: 'two' });
    registry.answerNext(
      (_request, response) => response.writeHead(401, { 'WWW-Authenticate': realm() }).end(),
      (_request, response) => {
        registry.opens.delete('Bearer one');
        registry.opens.add('Bearer two');
        response.end(JSON.stringify(index({ digest: disk })));
      },
    );
    expect(await resolve('disk:index')).toMatchObject({ authorization: 'Bearer two', title: 'b.raw' });
  });

  test.each([
    ['a wrong login', realm, { errors: [] }, 401, login, /which gives the registry's tokens, refuses the login/],
    [
      'none where one is needed',
      realm,
      { errors: [] },
      401,
      undefined,
      /wants a login, or the registry has no such image: give/,
    ],
    ['an answer without a token', realm, { token: 7 }, 200, login, /answered 200 without a token/],
    ['a token that would be another header', realm, { token: 'a\r\nX: b' }, 200, login, /without a token/],
    ['a service that is away', realm, {}, 503, login, /answered 503 without a token/],
    ['no service at all', () => 'Bearer realm="ftp://x"', {}, 200, login, /names no service that gives tokens/],
    [
      'another scheme',
      () => 'Negotiate',
      {},
      200,
      login,
      /the registry wants negotiate: Bearer and Basic are supported/,
    ],
    ['a challenge that says nothing', () => '', {}, 200, login, /wants nothing that is understood/],
  ])('%s', async (_, challenge, body, status, with_, says) => {
    registry.challenge = challenge();
    give(body, status);
    const refusal = await refusalOf(resolve('disk:it', with_ ? { login: with_ } : {}));
    expect(refusal).toMatch(says);
    expect(refusal).not.toContain('pull-secret');
  });

  test('a token that opens nothing', async () => {
    registry.challenge = realm();
    give({ token: 'abc' });
    expect(await refusalOf(resolve('disk:it', { login }))).toMatch(/answers 401 with the login that it was shown/);
    give({ token: 'abc' });
    expect(await refusalOf(resolve('disk:it'))).toMatch(/without a login, or has no such image: give one/);
  });

  test('a login that may read the index alone', async () => {
    const disk = registry.put(manifest(layer('b.raw')));
    registry.answerNext(
      (_request, response) => response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end(),
      (_request, response) => response.end(JSON.stringify(index({ digest: disk }))),
      (_request, response) => response.writeHead(403).end(),
    );
    expect(await refusalOf(resolve('disk:index', { login }))).toMatch(/answers 403 with the login that it was shown/);
  });

  test('a service that may not be called is not', async () => {
    registry.challenge = realm();
    const refuses = (url: URL): void => {
      if (url.host === tokens.host) throw new Error('not allowed');
    };
    expect(await refusalOf(resolve('disk:it', { login, refuses }))).toContain('not allowed');
    expect(tokens.requests).toEqual([]);
  });
});

describe('a registry that is too busy', () => {
  const busy =
    (after?: string): Answer =>
    (_request, response) =>
      response.writeHead(429, after === undefined ? {} : { 'Retry-After': after }).end();

  test('is asked again when it says', async () => {
    registry.put(manifest(layer('a.raw')), 'it');
    registry.answerNext(busy('3'), busy(new Date(5000).toUTCString()), busy());
    expect(await resolve('disk:it')).toMatchObject({ title: 'a.raw' });
    expect(clock.sleeps).toEqual([3000, 2000, 4000]);
  });

  test('for longer than there is time for is said to be', async () => {
    registry.answerNext(busy('3600'));
    expect(await refusalOf(resolve('disk:it'))).toMatch(/answered 429: it takes no more requests for 3600 s/);
    expect(clock.sleeps).toEqual([]);
    await expect(resolve('disk:it')).rejects.toMatchObject({ situation: 'image_missing' });
  });

  test('a registry that fails is tried, and then given up', async () => {
    const fails: Answer = (_request, response) => response.writeHead(500).end();
    registry.answerNext(fails, fails, fails, fails, fails);
    await expect(resolve('disk:it')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
