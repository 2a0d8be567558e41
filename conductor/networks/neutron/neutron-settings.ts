import { z } from 'zod';
import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';

/** The `neutron` part of the networks file. */
export interface NeutronSettings {
  /** `http://192.0.2.10:9696`; default with Keystone: what its catalogue says. */
  readonly url: string | undefined;
  /** PEM. */
  readonly caFile: string | undefined;
  /** `undefined` = Neutron asks for no token (`auth_strategy = noauth`). */
  readonly keystone: KeystoneLogin | undefined;
  /** Names or UUIDs of networks in Neutron. */
  readonly networks: Readonly<Record<Exclude<NetworkPurpose, 'tenant'>, string>>;
  /** Whether what others have changed is bound again without being asked for. */
  readonly repair?: boolean | undefined;
}

export interface KeystoneLogin {
  /** `http://192.0.2.10:5000/v3` */
  readonly url: string;
  readonly region: string | undefined;
  readonly secretFile: string;
  readonly as:
    | { readonly applicationCredential: string }
    | {
        readonly username: string;
        readonly userDomain: string;
        readonly project: string;
        readonly projectDomain: string;
      };
}

const words = z.string('must be a string; put it in quotes').min(1, 'must not be empty');
const url = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });
const file = z.string().startsWith('/', 'must be an absolute path');

export const NeutronInFile = z
  .strictObject({
    url: url.optional(),
    ca_file: file.optional(),
    provisioning: words,
    cleaning: words,
    repair: z.boolean().optional(),
    auth_url: url.optional(),
    region: words.optional(),
    username: words.optional(),
    password_file: file.optional(),
    user_domain: words.default('Default'),
    project: words.optional(),
    project_domain: words.default('Default'),
    application_credential_id: words.optional(),
    application_credential_secret_file: file.optional(),
  })
  .superRefine((entry, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    const byPassword = ['username', 'password_file', 'project'] as const;
    const byCredential = ['application_credential_id', 'application_credential_secret_file'] as const;
    const given = [...byPassword, ...byCredential].filter((key) => entry[key] !== undefined);
    if (entry.auth_url === undefined) {
      if (entry.url === undefined) fault('url', 'give Neutron’s url, or the auth_url of Keystone');
      for (const key of given) fault(key, 'means nothing without auth_url');
      return;
    }
    const ways = entry.application_credential_id === undefined ? byPassword : byCredential;
    for (const key of ways) if (entry[key] === undefined) fault(key, 'is needed with auth_url');
    for (const key of given) {
      if (!(ways as readonly string[]).includes(key)) fault(key, 'means nothing beside application_credential_id');
    }
  });

export function neutronSettings(entry: z.infer<typeof NeutronInFile>): NeutronSettings {
  const { auth_url: keystone, username, project, application_credential_id: applicationCredential } = entry;
  const secretFile = entry.application_credential_secret_file ?? entry.password_file ?? '';
  const as =
    applicationCredential === undefined
      ? {
          username: username ?? '',
          userDomain: entry.user_domain,
          project: project ?? '',
          projectDomain: entry.project_domain,
        }
      : { applicationCredential };
  return {
    url: entry.url?.replace(/\/+$/, ''),
    caFile: entry.ca_file,
    keystone:
      keystone === undefined ? undefined : { url: keystone.replace(/\/+$/, ''), region: entry.region, secretFile, as },
    networks: { provisioning: entry.provisioning, cleaning: entry.cleaning },
    repair: entry.repair,
  };
}
