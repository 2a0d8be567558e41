/** One thing that is wrong, or worth knowing, in a site's documents: Shipyard's ValidationMessage, told in our words. */
export interface SiteFault {
  readonly level: 'Error' | 'Warning' | 'Info';
  /** Short and stable, for programs: `DuplicateGroup`, `DependencyCycle`. */
  readonly name: string;
  /** What is wrong, and what would be right. */
  readonly message: string;
  /** The rule that was broken, where the message also repeats the value: faults with the same rule are the same. */
  readonly rule?: string;
  /** The document; absent = the site as a whole. */
  readonly document?: { readonly schema: string; readonly name: string; readonly collection?: string };
  /** Within it: `data.groups[2].success_criteria.percent_successful_nodes`. */
  readonly path?: string;
}

/** What is wrong, without what is only worth knowing. Pure. */
export function errorsIn(faults: readonly SiteFault[]): string[] {
  return faults.filter(({ level }) => level === 'Error').map(({ message }) => message);
}
