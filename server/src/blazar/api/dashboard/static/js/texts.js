/** All texts of the page: one catalogue, by key. `{name}` stands for a value. */

const ENGLISH = {
  title: "Reservations",
  signIn: "Sign in",
  signOut: "Sign out",
  signInAs: "Sign in as {name}",
  sandbox: "This is a sandbox: sign in with one click.",
  method: "With",
  password: "User and password",
  token: "Token",
  applicationCredential: "Application credential",
  who: "{user}, project {project}",
  user: "User",
  userDomain: "Domain",
  project: "Project",
  projectDomain: "Domain of the project",
  passwordField: "Password",
  tokenField: "Token",
  credentialId: "ID of the credential",
  credentialSecret: "Secret",
  noKeystone: "The operator has to set the address of Keystone: keystone_url in [dashboard], or www_authenticate_uri.",
  noAnswer: "{service} does not answer this page. It may be away, or does not allow this page's origin ({origin}).",
  refused: "Keystone refuses: {message}",
  noProjects: "You have no role in any project.",
  sessionOver: "Your token is no longer valid. Sign in again.",
  resources: "Resources",
  leases: "Leases",
  tools: "Time and filters",
  shows: "Show",
  as: "As",
  timeline: "Timeline",
  table: "Table",
  earlier: "Earlier",
  later: "Later",
  now: "Now",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  span: "Span",
  search: "Search",
  searchHint: "any text",
  searchLeases: "name, status, project",
  groupBy: "Group by",
  noGroup: "nothing",
  kind: "Kind",
  allKinds: "all",
  hour: "1 hour",
  sixHours: "6 hours",
  day: "1 day",
  threeDays: "3 days",
  week: "1 week",
  fourWeeks: "4 weeks",
  quarter: "3 months",
  year: "1 year",
  twoYears: "2 years",
  loading: "Loading …",
  nothing: "Nothing is reserved here.",
  noLeases: "There are no leases in this time.",
  noRows: "No resource has this text.",
  rowsOf: "{first}–{last} of {total}",
  previousRows: "Previous rows",
  nextRows: "Next rows",
  leftOut: "{count} short bars are not shown: zoom in.",
  moreLeases: "The first {count} leases are shown: choose a shorter time.",
  row: "Row",
  lease: "Lease",
  status: "Status",
  starts: "Start",
  ends: "End",
  grid: "Timeline. Arrow keys move, Enter opens a lease, plus and minus zoom, brackets go earlier and later, T is now. N makes a lease; M moves the one in focus, S its start, E its end.",
  rowOf: "{name}, row {row} of {total}",
  barSays: "{name}, {status}, from {start} to {end}",
  taken: "Reserved",
  sharedName: "{name} (shared)",
  held: "Held by an offer",
  heldCount: "{count} held",
  heldAndWaiting: "Held, and waiting in line",
  hold: "Hold it",
  holdMeans: "It is held for the project, for a while, and no one else gets it. Claim it in that time.",
  isHeld: "It is held until {time}.",
  offer: "Offer",
  heldUnits: "{kind}: {units}",
  claim: "Claim it",
  giveBack: "Give it back",
  givenBack: "What was held is given back.",
  maintenance: "Maintenance",
  waiting: "Waits in line",
  waitingCount: "{count} waiting in line",
  free: "free",
  ofTotal: "{free} of {total} {quantity} free now, at least {least} in this time",
  freeCurve: "Free",
  noCapacity: "What is free is not known for this time.",
  close: "Close",
  copy: "Copy",
  copied: "Copied.",
  selected: "Selected: copy it with your keys.",
  asked: "What was asked for",
  got: "What it got",
  why: "Why",
  history: "History",
  made: "Made",
  by: "by {user}",
  changedLast: "Last change",
  use: "Use",
  usedAndLeft: "{used} used, {left} left, as it was at {time}",
  outcome: "Outcome",
  notYet: "not yet",
  commands: "Commands",
  useIt: "Use it",
  reservation: "Reservation",
  id: "ID",
  owner: "User",
  dates: "When",
  lasts: "{duration}",
  event: "Event",
  time: "Time",
  start_lease: "Start",
  end_lease: "End",
  before_end_lease: "Warning before the end",
  degraded: "It lacks resources, or has others than at first.",
  missing: "It has less than was promised: resources have failed, and there were no others.",
  replaced: "Other resources serve it than at first.",
  position: "Position in line: {position}",
  waitsUntil: "It gives up at {until}.",
  expected: "When it began to wait, it could have started at {start}.",
  claimBy: "It is released unless it is used by {time}.",
  sharedRead: "It is another project's, and shared with this one: you may see it.",
  sharedTakeOver: "Another project offers it to this one: you may take it over before it starts.",
  sharedUse: "It is another project's, and shared with this one: you may put servers onto what it reserves.",
  sharedUseAndChange: "It is another project's, and shared with this one: you may put servers onto what it reserves, and change its name and its dates.",
  sharedChange: "It is another project's, and shared with this one: you may change its name and its dates.",
  priorityIs: "Priority: {priority}",
  notYours: "It belongs to another project, or is an offer: no more is told.",
  extend: "Extend",
  extendBy: "Extend by",
  wouldFit: "It fits: the end would be {end}.",
  cancelLease: "Cancel the lease",
  sureToCancel: "Cancel it for good? Servers in its reservations are removed.",
  yesCancel: "Yes, cancel it",
  keep: "Keep it",
  changeDates: "Change the dates",
  datesOf: "Dates of {name}",
  datesChanged: "The lease {name} is from {start} to {end} now.",
  undo: "Undo",
  undone: "It is as it was before.",
  extended: "The lease ends at {end} now.",
  cancelled: "The lease is cancelled.",
  madeAgain: "The lease {name} is made again, with another ID.",
  split: "Split it",
  splitOf: "Split {name}",
  splitMeans: "Some of it becomes a lease of its own, at the same dates and in the same place. It cannot be undone.",
  partName: "Name of the new lease",
  partOf: "{name}, part",
  unitsThatGo: "{kind} that go, of {units}",
  someGoes: "Something has to go, and something to stay.",
  isSplit: "The lease {name} is split: {part} is a lease of its own.",
  takeOver: "Take it over",
  sureToTakeOver: "It becomes this project's, and counts in its quota. That cannot be undone.",
  yesTakeOver: "Yes, take it over",
  leaveIt: "Leave it",
  takenOver: "The lease {name} is this project's now.",
  onStart: "Started with it",
  startTask: "What",
  stack: "A stack of Heat",
  webhook: "A webhook",
  stackName: "Name in Heat",
  region: "Region",
  address: "Address",
  ownPage: "Its own page",
  toCalendar: "Calendar",
  noLease: "There is no such lease in this project, or you may not see it.",
  leaseGone: "The lease {name} is no longer there.",
  rename: "Rename",
  renamed: "The lease is called {name} now.",
  change: "Change it",
  feed: "Calendar feed",
  feedMeans: "Calendar programs read the lease at a secret address. Who has the address needs no token.",
  makeFeed: "Make a feed",
  feedMade: "This address is not shown again.",
  feedOf: "Feed {name}, made {time}",
  revoke: "Revoke",
  revoked: "The feed is revoked.",
  newLease: "New lease",
  create: "Create",
  name: "Name",
  from: "From",
  to: "To",
  noneOfIt: "none",
  either: "either",
  yes: "yes",
  no: "no",
  fits: "It fits.",
  fitsNot: "It does not fit: {message}",
  insteadHeading: "You could have",
  take: "Take this",
  waitInLine: "Wait in line",
  waitsUntilStart: "The lease is made as soon as there is enough, and waits until its start at the most.",
  waitsInLine: "The lease {name} waits in line, at position {position}.",
  created: "The lease {name} is made.",
  repeat: "Repeat",
  repeatNever: "never",
  repeatDaily: "each day",
  repeatWeekly: "each week",
  repeatMonthly: "each month, on the same day",
  everyDays: "Every so many days",
  everyWeeks: "Every so many weeks",
  everyMonths: "Every so many months",
  onDays: "On",
  endsOf: "Ends",
  afterCount: "after so many leases",
  onDay: "on a day",
  howOften: "Number of leases",
  lastDay: "Last day",
  whereNotAllFit: "Where not all of them fit",
  allOrNone: "make none",
  thoseThatFit: "make the others",
  timesOfZone: "Days and times are those of {zone}, also where its clocks change.",
  repeatMissing: "Say how often it is repeated, and when that ends.",
  allFit: "All of them fit: {all} of {all}.",
  noneMade: "Not all of them fit, only {fit} of {all}: none would be made.",
  someMade: "Not all of them fit, only {fit} of {all}: these would be made.",
  noneFits: "None of them fits.",
  fitsNotOn: "{day}: {message}",
  moreOfThem: "and {count} more",
  series: "Series",
  seriesOf: "Series {name}",
  seriesIs: "The series {name}, by a rule of the zone {zone}:",
  seriesMade: "The series {name} is made: {made} of {all} leases.",
  seriesDeleted: "The series {name} is deleted.",
  ofSeries: "It is one of a series.",
  thisOne: "this one",
  goneByItself: "deleted",
  skipThis: "Skip this one",
  skipped: "The series {name} is without the lease of {day}.",
  restoreThis: "Bring it back",
  restored: "The series {name} has its lease of {day} again.",
  deleteSeries: "Delete the series",
  sureToDeleteSeries: "Delete it for good? It cannot be undone. Servers in its leases are removed with them.",
  askToDeleteSeries: "Delete it? None of its leases has begun, so it can be made again.",
  seriesMadeAgain: "The series {name} is made again, with other IDs.",
  deleteAll: "All its leases",
  deleteAhead: "Only those that have not started",
  keepSeries: "Keep it",
  noSuchTime: "There is no such time: the clocks go forward then.",
  twice: "The clocks show this time twice: {time} is meant.",
  goTo: "Go to",
  datesMissing: "Give both dates.",
  operators: "For operators",
  mail: "Mail",
  mailMeans: "You are told by mail what becomes of the leases that you have made, in all projects.",
  mailOff: "The operator of this cloud has no mail sent. What you choose here counts as soon as this changes.",
  mailEvents: "What you are told",
  mailWhen: "When",
  mailDaily: "Once a day, at {hour}, all in one mail",
  mailUsual: "What the operator has told",
  save: "Save",
  mailChosen: "Your mail is chosen.",
  health: "Health",
  lateness: "Lateness of events",
  seconds: "{seconds} s",
  outbox: "Notifications that wait",
  subscriptionLag: "Delay of what subscribers are told",
  threads: "Threads that do not work",
  program: "Program",
  allWork: "none",
  unknown: "not known",
  drift: "Comparison with the cloud",
  driftMeans: "What differs between the database and the cloud is counted by the metric blazar_differences, and listed by blazar-db-manage reconcile --dry-run.",
  notCompared: "off, or done by other managers",
  inError: "Leases in ERROR:",
  managers: "Managers",
  host: "Host",
  state: "State",
  version: "Version",
  eventsNow: "Events under way",
  plansWaiting: "Plans that wait",
  seen: "Last seen",
  utilisation: "What is reserved",
  quantity: "Quantity",
  timeAhead: "Time ahead",
  overTime: "Over time",
  mean: "Mean",
  most: "At most",
  reservedOf: "{reserved} of {total}",
  percent: "{percent} %",
  usage: "What was promised and used, in hours of the last 30 days",
  promised: "Promised",
  used: "Used",
  unused: "Unused",
  noShows: "No-shows",
  usedPart: "Used part",
  noUsage: "Nothing was promised.",
  past: "What was promised and used over time, in hours",
  pastDays: "12 days",
  pastWeeks: "12 weeks",
  pastMonths: "12 months",
  pastMeans: "A bar is a day, a week or 30 days, up to now: what was promised, and in full colour what was used.",
  timeBack: "Time back",
  notKnown: "Not known",
  period: "from {from}: {promised} promised, {used} used",
  projects: "Projects: what they use of their limits",
  limit: "Limit",
  noLimit: "none",
  ofLimit: "Of the limit",
  moreProjects: "The first {count} projects are shown.",
  limitsBy: "Limits are set by a command:",
  maintenances: "Maintenance",
  newMaintenance: "New maintenance",
  maintenanceInstead: "Maintenance instead",
  noMaintenance: "None is planned.",
  hosts: "Hosts",
  hostsField: "Hosts, by name or ID",
  hostsAndDates: "Name the hosts, and give both dates.",
  impact: "Leases that move: {moves}; that break: {breaks}; that stay: {stays}.",
  effect: "What becomes of it",
  forceMeans: "Do it all the same: leases that have begun move at once and lose their servers; others lack hosts.",
  takeAway: "Take the hosts away",
  takenAway: "The hosts are taken away: {name}.",
  endMaintenance: "End it",
  maintenanceEnded: "The maintenance {name} is ended: its hosts are back.",
  agenda: "Agenda",
  trouble: "No lease may get it now: {reason}",
  updated: "Updated {time}",
};

/** @typedef {keyof typeof ENGLISH} Key */

/**
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function text(key, values = {}) {
  return ENGLISH[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** @type {Record<string, string>} */
const KINDS = {
  "physical:host": "Hosts",
  "virtual:instance": "Instances",
  "flavor:instance": "Flavors",
  "virtual:floatingip": "Floating IPs",
  "instance:server": "Servers that exist",
  "storage:volume": "Volumes",
  network: "Networks",
  "network:port": "Ports",
};

/**
 * The name of the resources that kinds share; an unknown kind has the name that it gives itself.
 * @param {string[]} types
 * @returns {string}
 */
export function kindName(types) {
  return KINDS[types[0]] ?? types[0];
}

/** @type {Record<string, string>} */
const PARAMETERS = {
  min: "Hosts, at least",
  max: "Hosts, at most",
  hypervisor_properties: "Requirement, of the hypervisor",
  resource_properties: "Requirement",
  amount: "How many",
  vcpus: "VCPUs each",
  memory_mb: "Memory each, MiB",
  disk_gb: "Disk each, GiB",
  affinity: "All on one host",
  before_end: "Before the end",
  match: "Servers that it takes",
  flavor_id: "Flavor's ID",
  network_id: "Network's ID",
  required_floatingips: "Addresses among them",
  server_id: "Server's ID",
  on_end: "At the end",
  locked: "Locked until the end",
  volume_type: "Volume type",
  gigabytes: "Gigabytes in all",
  volumes: "How many",
  volume_name: "Their name, where they are made at the start",
  volume_size: "Gigabytes each",
  image_id: "Image's ID",
  snapshot_id: "Snapshot's ID",
};

/**
 * The label of a reservation's parameter; one of an unknown kind has its own name.
 * @param {string} name
 */
export function parameterName(name) {
  return PARAMETERS[name] ?? name.replaceAll("_", " ");
}

/** @type {Record<string, string>} */
const MAILS = {
  created: "It is made",
  updated: "It is changed",
  deleted: "It is deleted",
  waitlisted: "It waits in line",
  promoted: "It has what it waited for",
  expired: "It has waited in vain",
  offered: "What it needs is held for you",
  start_soon: "It starts soon",
  started: "It has started",
  failed: "It could not be started",
  end_soon: "It ends soon",
  ended: "It has ended",
  degraded: "It has less than it reserves",
  moved: "Other resources serve it",
  displaced: "It has given way to another lease",
  unclaimed_warning: "It is released unless it is used",
};

/** The events of a lease that mail may tell. */
export const MAILED = Object.keys(MAILS);

/** @param {string} word an event that mail tells @returns {string} */
export function mailedName(word) {
  return MAILS[word] ?? statusName(word);
}

/** @type {Record<string, string>} */
const EFFECTS = {
  moves: "moves to other hosts",
  breaks: "breaks",
  stays: "stays",
  nothing_suits: "no other host suits",
  has_begun: "it has begun",
  not_now: "it is being changed, or is an offer: ask again",
  ends_before: "it ends before",
  is_ending: "it is being ended",
};

/** What a maintenance does to a lease, and why. @param {string} effect @param {string | null} reason */
export function effectName(effect, reason) {
  return [effect, reason].filter((word) => word !== null).map((word) => EFFECTS[word] ?? statusName(word)).join(": ");
}

/**
 * A status as a word: `BEFORE_END` is "before end".
 * @param {string} status
 * @returns {string}
 */
export function statusName(status) {
  return status.toLowerCase().replaceAll("_", " ");
}

/**
 * @param {string} name of an event
 * @returns {string}
 */
export function eventName(name) {
  return name in ENGLISH ? text(/** @type {Key} */ (name)) : statusName(name);
}

/** @param {string} type of what is started with a lease @returns {string} */
export function startTaskName(type) {
  return type in ENGLISH ? text(/** @type {Key} */ (type)) : statusName(type);
}

/** @param {string} right of the user's project to a lease of another one @returns {string} what it may do */
export function rightName(right) {
  if (right === "take_over") return text("sharedTakeOver");
  if (mayUse(right)) return text(mayChange(right) ? "sharedUseAndChange" : "sharedUse");
  return text(mayChange(right) ? "sharedChange" : "sharedRead");
}

/** @param {string} right @returns {boolean} whether it lets change a lease of another project */
export function mayChange(right) {
  return ["change", "use_and_change"].includes(right);
}

/** @param {string} right @returns {boolean} whether it lets use a lease of another project */
export function mayUse(right) {
  return ["use", "use_and_change"].includes(right);
}

/** @param {import("./rows.js").Bar} bar @returns {string} */
export function nameOf(bar) {
  if (bar.type === "held") return text("held");
  if (bar.type === "maintenance") return [text("maintenance"), bar.name].filter(Boolean).join(": ");
  if (bar.right) return text("sharedName", { name: bar.name });
  return bar.name || text("taken");
}
