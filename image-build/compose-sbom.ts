import { z } from 'zod';

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly license?: string | undefined;
  /** Integrity as in `package-lock.json`: `sha512-…`, base64. */
  readonly integrity?: string | undefined;
}

interface Shipped {
  readonly version: string;
  /** Version of Node.js, `24.21.0`. */
  readonly node: string;
  readonly npm: readonly NpmPackage[];
  /** `name=version`, of the ramdisk. */
  readonly debian: readonly string[];
}

/** A CycloneDX 1.6 list of what is shipped, the same for the same parts: it has no time and no number of its own. Pure. */
export function composeSbom({ version, node, npm, debian }: Shipped): unknown {
  const components = [
    component('Node.js', node, `pkg:generic/node@${node}`),
    ...npm.map(({ name, license, integrity, ...each }) => ({
      ...component(name, each.version, `pkg:npm/${name.replace('@', '%40')}@${each.version}`),
      ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
      ...(integrity?.startsWith('sha512-') === true
        ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }] }
        : {}),
    })),
    ...debian.map((each) => {
      const [name = '', release = ''] = each.split(/=(.*)/);
      return component(name, release, `pkg:deb/debian/${name}@${encodeURIComponent(release)}`);
    }),
  ];
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'baton', name: 'baton', version } },
    components: components.sort((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
}

function component(name: string, version: string, purl: string) {
  return { type: 'library', 'bom-ref': purl, name, version, purl };
}

/** `MIT`, or an expression: `(MIT OR Apache-2.0)`. */
function licenseOf(text: string) {
  return /\s/.test(text) ? { expression: text } : { license: { id: text } };
}

const Lock = z.object({ packages: z.record(z.string(), z.object({ integrity: z.string().optional() })) });

/** The hash of each package's archive by its directory: `node_modules/hono` → `sha512-…`. */
export function readIntegrities(lock: string): ReadonlyMap<string, string | undefined> {
  return new Map(
    Object.entries(Lock.parse(JSON.parse(lock)).packages).map(([path, { integrity }]) => [path, integrity]),
  );
}
