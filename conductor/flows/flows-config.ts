import type { AgentsConfig } from '#conductor/agents/context.ts';
import type { ClusterConfig } from '#conductor/cluster/cluster-settings.ts';
import type { PluginRow } from '#conductor/kernel/db/schema/site.ts';
import type { PluginTaskRef } from '#conductor/model/flows/planned-step.ts';
import type { AttestationMode } from '#conductor/model/tpm/attestation-mode.ts';
import type { RegistryConfig } from '#shared/oci/registry-settings.ts';

export interface FlowsConfig extends AgentsConfig, ClusterConfig {
  readonly automatedClean: boolean;
  readonly fastTrackTimeoutMs: number;
  /** Whether boot loaders may be installed by programs of the image, which run in the ramdisk for it. */
  readonly runImagePrograms: boolean;
  /** Whether lookups are answered only to machines that their CD or iPXE has given the boot's token. */
  readonly requireBootToken: boolean;
  /** Whether machines' TPMs are asked to prove themselves. */
  readonly attestation: AttestationMode;
  /** Directory of the CAs of TPMs' vendors; `undefined` = none are known. */
  readonly tpmCaDirectory: string | undefined;
  /** Settings of what booting machines are sent. */
  readonly boot: { readonly url: string; readonly insecureAgents: boolean };
  readonly kernelParams: string;
  /** Whether nodes may name a ramdisk that they boot in place of the conductor's. */
  readonly nodeRamdisks: boolean;
  readonly ramdiskDirectory: string;
  /** Holds iPXE, which machines load over the network. */
  readonly ipxeDirectory: string;
  /** Absent: another DHCP server says what machines load. */
  readonly dhcp?: { readonly tftpDirectory: string } | undefined;
  /** Served below `/images/`. */
  readonly imagesDirectory: string;
  readonly registries: RegistryConfig;
  /** Seconds, as the wire has it. */
  readonly heartbeatTimeout: number;
  readonly callbackTimeoutMs: number;
  /** Priorities by `interface.step`. */
  readonly cleanStepPriorities: ReadonlyMap<string, number>;
  /** `Infinity` = no limit. */
  readonly stepTimeoutMs: number;
  readonly retryTimeoutMs: number;
  readonly powerTimeoutMs: number;
  readonly powerSyncIntervalMs: number;
  /** How long an agent waits to go into the deployed system before it powers off. */
  readonly kexecTimeoutMs: number;
  readonly maxActiveNodes: number;
}

export type WhichPlugin = Pick<PluginTaskRef, 'plugin' | 'version' | 'content'>;

/** The files of plugins, on their way to agents: a site sends the same ones to each of its nodes, all at about the same time. */
export interface PluginFiles {
  /**
   * Lets few at once read files and send them, in the order in which they ask: what is sent is in memory three times over
   * (object, JSON, bytes).
   * @throws the signal's reason, when it aborts before its turn
   */
  take<T>(
    signal: AbortSignal,
    send: (read: (which: WhichPlugin) => Promise<PluginRow['files']>) => Promise<T>,
  ): Promise<T>;
}
