"""Two small lists of English words that are no names: for questions typed without capital letters."""

from __future__ import annotations

_FUNCTION = """
    a about above across after against all along also although am among an and another any are aren't around as at be
    because been before being below between both but by can can't could couldn't did didn't do does doesn't doing don't
    done down during each either else ever every few for from had has hasn't have haven't having he her here hers
    herself him himself his how however i if in into is isn't it it's its itself just many may me might more most much
    must my near neither no nor not now of off on once one only or other others our out over own per quite rather
    same shall she should since so some still such than that that's the their theirs them themselves then there
    there's these they this those though through till to too toward under unless until up upon us use very was wasn't
    we were weren't what what's whatever when whence where where's wherever whether which while who who's whom whose
    why will with within without won't would wouldn't yes yet you your according besides including regarding despite
    like two three four five six seven eight nine ten first second third last next
    """

_EVERYDAY = """
    able academy account act acted acting action activity actor actors actress actual actually added address
    administration adult age agency ago agreement air album albums allowed almost alone already always amendment amount
    ancient angle animal animals annual answer anyone anything appear appeared appears area areas army art article
    artist artists ask asked associated athlete author authority average away award awards baby back bad balance ball
    band bands bank bar base based basic basis battle beach bear beat beautiful became become becomes beer began begin
    beginning behind believe believed belong belongs best better big bigger biggest bill bird birth birthplace black
    blood blue board boat body bone bones book books border borders born boss both bought box boy boys brand break
    bridge bring british broke brother brothers brought budget build building buildings built business buy cabinet call
    called calls came camp candidate capital captain car card cards care career carry cars case cast cat caught cause
    caused causes celebrate celebrated cell cells center central centre century certain chain chair championship
    championships change changed changes channel chapter character characters charge chart cheese chemical chief child
    childhood children church cities citizen city civil claim class classic clean clear climate close closed closest
    clothes club coach coast code coin cold collect college colony color colors colour column come comedy comes comic
    coming committee common communication community companies company compared competition complete composed composer
    computer condition conference connected connection considered consist consists constitution contain contains
    contest contract control convention cost council count countries country county couple course court cover create
    created creator crime cross crown culture cup currency current currently cut daily dance date daughter day days
    dead deal death decide decided declared decrease deep defeat defeated defined definition degree demand department
    depth describe described design designed desk develop developed development developer device did die died dies diet
    difference different difficult dinner direct direction director directors disease distance district divided
    division doctor dog dogs dollar dollars door double drama draw drawn dress drink drive drop drug drummer dry due
    duke duration duty early earlier earliest earned earth easy eat economic economy edge editor education effect
    effects eggs elected election element elements emperor employee employees empire end ended ending ends energy enter
    entire entry environment episode episodes equal equipment era established estate event events everyone evidence
    exactly example executive exist expensive experience explain express eye eyes face fact factor factory failure fall
    falls family famous fans far farm fast fastest fat father favorite feature featured features federal feel feet
    female festival field fight figure film filmed films final finale finally finals find fire fish five flag flat
    flavor flight floor flow flower fly follow followed food foot football force forces foreign forest form formed
    former found foundation founded founder free freedom frequently friend friends front fruit full function further
    future gain gallery game games gas gave gender general genre get gets girl girls give given gives glass go goal
    goals god goes going gold golf good goods got govern government governor grade grand grandfather grandmother grant
    great greatest green grew ground group groups grow grown growth guard guest guitar gun guy guys hair half hall hand
    hands happen happened happens hard hat head headquarters health hear heard heart heat heavy height held hell help
    helped hero high higher highest hill history hit hits hold holds hole holiday home horse hospital hosted host hot
    hotel hour hours house houses human hundred hurricane husband ice idea illegal image important inch inches include
    included includes income increase increased independence independent individual industrial industry influence
    information inside inspired instrument instruments international invaded invented inventor invention involved iron
    island islands issue issued job join joined joint judge jury keep kept key kid kids kill killed kind kinds king
    kingdom know known label lake land lands language languages large larger largest late later latest launched law
    laws lay lead leader leaders leading leads league learn least leave left leg legal legend length less letter
    letters level library license lie lies life light limit line lines link lips list literature little live lived
    lives living local locate located location locations long longer longest look looking lord lose lost lot love
    lover low lower lowest lyrics machine made magazine main major majority make maker makes making male man manager
    manner manufactured map march marine mark market married marry mass match material maximum mayor mean meaning means
    meant measure meat media medical medicine meet meeting member members memory men mentioned message met metal method
    middle mile miles military milk million mind minimum minister minor minute minutes miss mixed model modern mom
    money month months monument moon morning mother motion mountain mountains mouth move moved movement movie movies
    murder muscle museum music musical name named names narrator nation national nationality natural nature needed
    need needs network new news newspaper night nine none normal normally northern nose note notes novel novels number
    numbers object occupation occur occurred occurs ocean offer office officer official often oil old older oldest
    olympic open opened opening opera operate operated order organ organization origin original originally originate
    originated outside owned owner owns page paid paint painted painter painting pair palace paper parent parents park
    part participated particular parties parts party pass passed past path pay peace people percent percentage perform
    performed performer performers period person personal phone phrase physical piano picture piece pieces place placed
    places plan plane planet plant plants plate play played player players playing plays playoffs pleading plot point
    points police policy political poor pope popular population port portrayed position possible post pounds power
    powers practice premiere present president press pressure prevent previous price priest prime prince princess
    principle prison private prize problem process produce produced producer product production products professional
    professor profit program project pronounce property protect province provide public publish published publisher
    purpose push put quarter queen question questions quickly race racing radio rain raise range rank ranked rate
    reach reached read real really reason receive received recent recently record recorded recording red refer
    referred region regular reign related relationship release released religion religious remain remained remake
    report represent represented require required research resident response responsible rest restaurant result return
    returned revenue review revolution rich ride right rights ring rise river rivers road rock role roles room round
    row royal rule ruled ruler rules run running runs safe said salary sale sales sang saw say saying says scale scene
    school schools science score scored scorer screen sea season seasons seat seats secret secretary section see seen
    self sell senate senator sense sent sentence separate serial series serve served service set sets settled seven
    several sex shape share she ship ships shot show shows side sign signed significance significant similar sing
    singer sings single sister sisters sit site situated size skin sky slave small smaller smallest social society
    soft sold soldier soldiers somebody someone something son song songs sons soon sound sounds source south southern
    space speak special species speech speed spend spoke spoken sport sports spouse spread spring square staff stage
    stand stands star starred starring stars start started starts state stated states station stay step stolen stop
    store stories story street strong structure student students studied study style subject success successful summer
    supply support supreme surface surrounding survive sweet symbol system table take taken takes talk tall taller
    tallest tax taxes teach teacher team teams technology television tell temperature term terms territory test text
    theme theory thing things think thousand throne throw ticket time times title titles today together told tonight
    took top total tour tournament tower town track trade tradition traditional train trained training travel treaty
    tree trees trial tribe trophy true try turn turned tv type types uncle unit university used uses using usually
    valley value van various vehicle version victory video view village visit voice volume vote voted wait walk wall
    war wars wash watch water way ways weapon wear weather website wedding week weeks weight went west western white
    wide wife wild win wind window wine wing winner winning wins winter wish woman women won wood word words work
    worked working works world worn worst worth write writer writers writing written wrote year years young younger
    youngest zone
    """

FUNCTION_WORDS = frozenset(_FUNCTION.split())
EVERYDAY_WORDS = frozenset(_EVERYDAY.split())
