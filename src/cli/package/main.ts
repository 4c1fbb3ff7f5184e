#!/usr/bin/env node
/** The program `berth` of the package berth-cli. */

// In package.json, `engines` only causes a warning. Older versions would fail with an error that names no version.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 12)) {
  console.error(`berth: this is Node ${process.versions.node}; next: install Node 22.12 or newer`);
  // 1 would be a difference for berth diff.
  process.exit(2);
}

// Imported after the check, because an older version cannot load these modules.
const { runProcess } = await import('../command-line.ts');
const { PACKAGED } = await import('./commands.ts');
await runProcess(PACKAGED);

export {};
