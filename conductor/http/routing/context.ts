import type { Consoles } from '#conductor/agents/consoles.ts';
import type { SettingInForce } from '#conductor/api/records.ts';
import type { AuthConfig, BootConfig, TlsConfig } from '#conductor/auth/auth-settings.ts';
import type { Authenticator } from '#conductor/auth/authenticator.ts';
import type { ConnectionShares } from '#conductor/http/routing/share-connections.ts';
import type { SitesConfig, SitesContext } from '#conductor/sites/context.ts';
import type { WebhooksConfig } from '#conductor/webhooks/webhook-settings.ts';
import type { KeptService } from '#shared/process/keep-running.ts';

/** The end of the API's certificate, as operators hear of it. */
export interface CertificateWatch {
  /** Sentence for `/readyz` from 14 days before the end on; `undefined` = all is well. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
}

export interface HttpConfig extends SitesConfig, WebhooksConfig {
  readonly port: number;
  /** Beginning of links, `next` and `Location`: the public URL when it is set; `undefined` = as the client wrote. */
  readonly apiUrl: string | undefined;
  /** Holds iPXE. */
  readonly ipxeDirectory: string;
  readonly metrics: 'reader' | 'anybody' | 'off';
  readonly auth: AuthConfig;
  /** `undefined` = plain HTTP. */
  readonly tls: TlsConfig | undefined;
  /** Settings of what booting machines are sent, and the port of plain HTTP that serves it beside an API with TLS. */
  readonly boot: BootConfig;
  /** All of it, as administrators are shown it. */
  readonly settings: readonly SettingInForce[];
}

/** Means that the API may use: it knows who calls. */
export interface HttpContext extends SitesContext {
  readonly config: HttpConfig;
  readonly auth: Authenticator;
  readonly consoles: Consoles;
  /** Absent in process. */
  readonly connections?: Pick<ConnectionShares, 'trouble'>;
  /** Certificate of the API; absent without TLS. */
  readonly certificate?: Pick<CertificateWatch, 'trouble'> | undefined;
  /** Ends of certificates of BMCs, switches, image servers …; absent = nobody follows them. */
  readonly peerCertificates?: Pick<CertificateWatch, 'trouble'> | undefined;
  /** The DHCP server that this conductor runs. */
  readonly dhcp?: KeptService | undefined;
}
