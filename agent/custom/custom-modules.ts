/** A module of a custom hardware manager that was bundled with the agent. */
export interface CustomModule {
  /** `acme-nic.ts` */
  readonly file: string;
  /** Imports it, which runs it: it may throw. */
  readonly load: () => Promise<unknown>;
}

/** None here: `npm run image -- --extra DIR` puts those of the directories in this module's place. */
export const customModules: readonly CustomModule[] = [];
